// SPDX-License-Identifier: MIT
// Collects what a reader must know, once each, with the subjects that it is true of.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stab::stats {

class Notes {
 public:
  // A sentence by itself.
  void add(std::string sentence) { add("", std::move(sentence)); }
  // A sentence on a subject; the same sentence on several subjects becomes one note.
  void add(std::string_view subject, std::string sentence);

  // "sort, fft: there are too few trials ..."; capitalized if it is on no subject.
  [[nodiscard]] std::vector<std::string> sentences() const;

 private:
  struct Entry {
    std::string sentence;
    std::vector<std::string> subjects;
  };
  std::vector<Entry> entries_;
};

}  // namespace stab::stats
