// SPDX-License-Identifier: MIT
#include "store/rows/checksum.h"

#include <fmt/format.h>

#include <bit>

#include "base/hash.h"

namespace stab::store {

std::string ChecksumText::piece(std::string_view text) {
  return fmt::format("{}:{}", text.size(), text);
}

void ChecksumText::begin(std::string_view table) {
  text_.clear();
  add_piece(table);
}

void ChecksumText::add_piece(std::string_view bytes) {
  const fmt::format_int length(bytes.size());
  text_.append(length.data(), length.size());
  text_ += ':';
  text_ += bytes;
}

void ChecksumText::add(std::int64_t value) {
  text_ += "1:i";
  const fmt::format_int digits(value);
  add_piece({digits.data(), digits.size()});
}

void ChecksumText::add(double value) {
  text_ += "1:r";
  const fmt::format_int digits(std::bit_cast<std::uint64_t>(value));
  add_piece({digits.data(), digits.size()});
}

void ChecksumText::add(std::string_view value) {
  text_ += "1:t";
  add_piece(value);
}

std::int64_t ChecksumText::value() const {
  return std::bit_cast<std::int64_t>(sha256_word(text_));
}

}  // namespace stab::store
