// SPDX-License-Identifier: MIT
// Reads forward over bytes that may be damaged, and remembers whether it ran out of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace stab::instrumenter {

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] bool at_end() const { return position_ >= bytes_.size(); }

  std::uint8_t byte() { return at_end() ? failed() : bytes_[position_++]; }
  void skip(std::uint64_t count) {
    if (count > bytes_.size() - position_)
      failed();
    else
      position_ += count;
  }
  std::uint32_t word() { return number<std::uint32_t>(); }
  template <class T>
  T number() {
    T value = 0;
    if (bytes_.size() - position_ < sizeof value) return failed();
    std::memcpy(&value, bytes_.data() + position_, sizeof value);
    position_ += sizeof value;
    return value;
  }
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if ((next & 0x80) == 0) break;
    }
    return value;
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const std::uint8_t next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      shift += 7;
      if ((next & 0x80) != 0) continue;
      if ((next & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      break;
    }
    return static_cast<std::int64_t>(value);
  }

 private:
  std::uint8_t failed() {
    ok_ = false;
    position_ = bytes_.size();
    return 0;
  }
  std::span<const std::uint8_t> bytes_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace stab::instrumenter
