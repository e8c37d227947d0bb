// SPDX-License-Identifier: MIT
// Frame descriptions made by hand, in memory of exactly their size.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/walk/walk.h"

namespace stab::rt::testing {

using Bytes = std::vector<uint8_t>;

inline Bytes joined(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Returns the body with its length in front.
inline Bytes entry(const Bytes& body) {
  const auto size = static_cast<uint32_t>(body.size());
  return joined({static_cast<uint8_t>(size), static_cast<uint8_t>(size >> 8),
                 static_cast<uint8_t>(size >> 16), static_cast<uint8_t>(size >> 24)},
                body);
}

// def_cfa rsp+8; the return address at CFA-8
inline const Bytes usual_start = {0x0c, 7, 8, 0x90, 1};

// Code alignment 1, data alignment -8, column 16, addresses pc-relative in 4 bytes.
inline Bytes usual_cie(const Bytes& code = usual_start) {
  return entry(joined({0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b}, code));
}

inline Bytes usual_fde(const Bytes& code) {
  return entry(joined({1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}, code));
}

inline FrameDescription describe(const Bytes& fde, const Bytes& cie) {
  return {fde.data(), fde.size(), cie.data(), cie.size(), 0x1000, 0x10000};
}

}  // namespace stab::rt::testing
