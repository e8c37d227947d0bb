// SPDX-License-Identifier: MIT
// Collects the facts that a reader must know. Each appears once, with the subjects that it applies
// to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stab::stats {

// Writes p as notes do: "p = 0.0898", "p < 0.0001".
std::string p_words(double p);
// "5 programs"; a name of one letter gets no s.
std::string count_words(std::size_t n, const std::string& unit);
std::string plural(const std::string& unit);

class Notes {
 public:
  // Adds a sentence without a subject.
  void add(std::string sentence) { add("", std::move(sentence)); }
  // Adds a sentence about a subject. The same sentence about several subjects becomes one note.
  void add(std::string_view subject, std::string sentence);

  // "sort, fft: there are too few trials ..."; capitalized if it has no subjects.
  [[nodiscard]] std::vector<std::string> sentences() const;

 private:
  struct Note {
    std::string sentence;
    std::vector<std::string> subjects;
  };
  std::vector<Note> notes_;
};

}  // namespace stab::stats
