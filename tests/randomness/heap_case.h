// SPDX-License-Identifier: MIT
// One case: an allocator, what a program does with it, and how random the addresses are then.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/randomness/nist.h"

namespace stab::randomness {

constexpr std::size_t sequence = std::size_t{1} << 16;  // addresses of a case
constexpr double alpha = 0.01;

struct HeapCase {
  std::string options{};  // of the runtime; "": libc's heap, without us
  std::string pattern{};  // as tests/randomness/addresses_main.cc says
  std::size_t size = 0;
};

// Empty if the program failed.
std::vector<std::uint64_t> addresses_of(const HeapCase& heap);

// One bit of all addresses.
Bits bit_of(const std::vector<std::uint64_t>& addresses, unsigned bit);

// Of a few bits together.
struct Score {
  unsigned tests = 0;
  unsigned passed = 0;
  double least_entropy = 1;
};
Score score(const std::vector<std::uint64_t>& addresses, unsigned first_bit, unsigned last_bit);

}  // namespace stab::randomness
