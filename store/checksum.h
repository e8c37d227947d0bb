// SPDX-License-Identifier: MIT
// The text that a row's checksum is taken of (doc/store.md, "Checksums"), piece by piece. The
// columns come in the order of their names; those that are NULL are left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stab::store {

class ChecksumText {
 public:
  void begin(std::string_view table);
  // Each column: its name, then its value.
  void add_name(std::string_view column) { add_piece(column); }
  void add(std::int64_t value);
  void add(double value);
  void add(std::string_view value);
  [[nodiscard]] std::int64_t value() const;

 private:
  void add_piece(std::string_view bytes);  // with its length before it

  std::string text_;
};

}  // namespace stab::store
