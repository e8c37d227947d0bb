// SPDX-License-Identifier: MIT
// The runtime's reader, over a span and with a position.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/abi/byte_reader.h"

namespace stab::instrumenter {

class ByteReader : public rt::ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes)
      : rt::ByteReader(bytes.data(), bytes.size()), begin_(bytes.data()) {}

  [[nodiscard]] bool ok() const { return !failed(); }
  [[nodiscard]] std::size_t position() const { return static_cast<std::size_t>(at() - begin_); }

  std::uint32_t word() { return number<std::uint32_t>(); }
  template <class T>
  T number() {
    return static_cast<T>(fixed(sizeof(T)));
  }

 private:
  const std::uint8_t* begin_;
};

}  // namespace stab::instrumenter
