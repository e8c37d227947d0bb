// SPDX-License-Identifier: MIT
// Collects what a reader must know, once each, with the subjects that it is true of.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stab::stats {

// How notes write numbers: "p = 0.0898", "p < 0.0001".
std::string p_words(double p);
// "5 programs"; a name of one letter does not take an s.
std::string count_words(std::size_t n, const std::string& unit);
std::string plural(const std::string& unit);

class Notes {
 public:
  // A sentence by itself.
  void add(std::string sentence) { add("", std::move(sentence)); }
  // A sentence on a subject; the same sentence on several subjects becomes one note.
  void add(std::string_view subject, std::string sentence);

  // "sort, fft: there are too few trials ..."; capitalized if it is on no subject.
  [[nodiscard]] std::vector<std::string> sentences() const;

 private:
  struct Note {
    std::string sentence;
    std::vector<std::string> subjects;
  };
  std::vector<Note> notes_;
};

}  // namespace stab::stats
