// SPDX-License-Identifier: MIT
#include "base/random.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace stab {

std::uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

std::uint64_t Random::below(std::uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t rejected = -bound % bound;
  for (;;) {
    const Wide product = Wide{next()} * bound;
    if (static_cast<std::uint64_t>(product) >= rejected)
      return static_cast<std::uint64_t>(product >> 64);
  }
}

std::uint64_t derive(std::uint64_t seed, std::string_view purpose,
                     std::initializer_list<std::uint64_t> indices) {
  Sha256 hash;
  hash.add_field(fmt::format("{}", seed));
  hash.add_field(purpose);
  for (const std::uint64_t index : indices) hash.add_field(fmt::format("{}", index));
  return hash.word();
}

}  // namespace stab
