// SPDX-License-Identifier: MIT
// Random choices that are the same on every machine, because nothing here uses the standard
// library's generators. A seed is derived from the experiment's seed and the name of the choice, so
// that adding one choice never changes another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

namespace stab {

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();

  // Uniform on [0, bound), without bias (Lemire, 2019). bound > 0.
  std::uint64_t below(std::uint64_t bound);

  // Uniform over all orders (Fisher-Yates).
  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::uint64_t state_;
};

// An independent seed for one choice, for example derive(7, "link_order", {3}). Equal arguments
// give equal seeds.
std::uint64_t derive(std::uint64_t seed, std::string_view purpose,
                     std::initializer_list<std::uint64_t> indices = {});

}  // namespace stab
