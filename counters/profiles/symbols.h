// SPDX-License-Identifier: MIT
// The functions of an ELF file, by the offsets of their code. Any file is accepted; a damaged file,
// or one that is not ELF, has no functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stab::counters {

class Symbols {
 public:
  Symbols() = default;
  // Reads the symbols of an open file.
  static Symbols of(int fd);

  // The function whose code contains this offset of the file; "" if no symbol with a size contains
  // it.
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
    std::size_t name = 0;  // offset in names_
    bool is_global = false;
  };
  friend class SymbolReader;

  std::vector<Segment> segments_;
  std::vector<Function> functions_;  // sorted by start
  std::string names_;                // each ended by a zero
};

}  // namespace stab::counters
