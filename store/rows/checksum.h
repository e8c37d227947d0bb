// SPDX-License-Identifier: MIT
// Builds the text from which a row's checksum is computed (doc/store.md, "Checksums"), piece by
// piece. Add the columns in the order of their names, and leave out those that are NULL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stab::store {

class ChecksumText {
 public:
  // A text with its length before it.
  static std::string piece(std::string_view text);

  void begin(std::string_view table);
  // For each column, add piece() of its name, then its value.
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
