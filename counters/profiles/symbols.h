// SPDX-License-Identifier: MIT
// The functions of an ELF file, by where their code lies in it. Any file may be asked for: one that
// is damaged, or none at all, has no functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stab::counters {

class Symbols {
 public:
  Symbols() = default;
  // Those of an open file.
  static Symbols of(int fd);

  // The function whose code holds this byte of the file; "": none that has a name and a size.
  [[nodiscard]] std::string_view at(std::uint64_t offset) const;

 private:
  struct Segment {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t address = 0;
  };
  struct Function {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::size_t name = 0;  // in names_
    bool is_global = false;
  };
  friend class SymbolReader;

  std::vector<Segment> segments_;
  std::vector<Function> functions_;  // by their starts
  std::string names_;                // each ended by a zero
};

}  // namespace stab::counters
