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
  // A text as it goes in: with its length before it.
  static std::string piece(std::string_view text);

  void begin(std::string_view table);
  // Each column: piece() of its name, then its value.
  void add_name(std::string_view piece) { text_ += piece; }
  void add(std::int64_t value);
  void add(double value);
  void add(std::string_view value);
  [[nodiscard]] std::int64_t value() const;

 private:
  void add_piece(std::string_view bytes);

  std::string text_;
};

}  // namespace stab::store
