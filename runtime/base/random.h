// SPDX-License-Identifier: MIT
// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
#pragma once

#include <stdint.h>

namespace stab::rt {

class Random {
 public:
  explicit constexpr Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // Uniform on [0, bound), without bias (Lemire: Fast random integer generation in an interval,
  // 2019). bound > 0.
  uint64_t below(uint64_t bound) {
    unsigned __int128 product = static_cast<unsigned __int128>(next()) * bound;
    if (static_cast<uint64_t>(product) < bound) {
      const uint64_t threshold = -bound % bound;
      while (static_cast<uint64_t>(product) < threshold)
        product = static_cast<unsigned __int128>(next()) * bound;
    }
    return static_cast<uint64_t>(product >> 64);
  }

  // Returns an independent stream, which depends only on the state.
  [[nodiscard]] Random derived() const {
    Random other(state_ ^ 0x5851f42d4c957f2du);
    return Random(other.next());
  }

 private:
  uint64_t state_;
};

}  // namespace stab::rt
