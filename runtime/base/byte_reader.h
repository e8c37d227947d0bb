// SPDX-License-Identifier: MIT
// Reads numbers from untrusted bytes. After a read beyond the end, every number is 0 and failed()
// is true.
#pragma once

#include <stdint.h>

namespace stab::rt {

class ByteReader {
 public:
  ByteReader(const uint8_t* begin, uint64_t size) : at_(begin), end_(begin + size) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] const uint8_t* at() const { return at_; }
  [[nodiscard]] uint64_t left() const { return static_cast<uint64_t>(end_ - at_); }
  void fail() {
    failed_ = true;
    at_ = end_;
  }

  // Reads a little-endian number of 1 to 8 bytes.
  uint64_t fixed(uint32_t bytes) {
    if (left() < bytes) {
      fail();
      return 0;
    }
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; ++i) value |= uint64_t{at_[i]} << (8 * i);
    at_ += bytes;
    return value;
  }
  int64_t fixed_signed(uint32_t bytes) {
    const uint32_t shift = 64 - 8 * bytes;
    return static_cast<int64_t>(fixed(bytes) << shift) >> shift;
  }
  uint8_t byte() { return static_cast<uint8_t>(fixed(1)); }

  uint64_t uleb() {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 63; shift += 7) {
      const uint64_t part = byte();
      value |= (part & 0x7f) << shift;
      if (part < 0x80) return value;
    }
    fail();
    return 0;
  }
  int64_t sleb() {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 63; shift += 7) {
      const uint64_t part = byte();
      value |= (part & 0x7f) << shift;
      if (part >= 0x80) continue;
      const uint32_t unused = 57 - shift;
      return static_cast<int64_t>(value << unused) >> unused;
    }
    fail();
    return 0;
  }

  void skip(uint64_t bytes) {
    if (left() < bytes) return fail();
    at_ += bytes;
  }
  // Returns a reader for the next `bytes` bytes, and skips them here.
  ByteReader block(uint64_t bytes) {
    const uint8_t* start = at_;
    skip(bytes);
    return failed_ ? ByteReader(end_, 0) : ByteReader(start, bytes);
  }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
  bool failed_ = false;
};

}  // namespace stab::rt
