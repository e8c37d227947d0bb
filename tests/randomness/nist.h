// SPDX-License-Identifier: MIT
// Tests for randomness of a sequence of bits: NIST SP 800-22 revision 1a, sections 2.1 to 2.6 and
// 2.13. Each gives a p-value, uniform on [0, 1] for random bits; below 0.01 the bits fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stab::randomness {

using Bits = std::vector<std::uint8_t>;  // 0 or 1 each; not empty

double frequency(const Bits& bits);
double block_frequency(const Bits& bits, std::size_t block);
double runs(const Bits& bits);
// At least 128 bits; the block's length follows from the sequence's.
double longest_run(const Bits& bits);
// Of disjoint square matrices of this side, at least one.
double rank(const Bits& bits, std::size_t side = 32);
// By the discrete Fourier transform; quick if the factors of the length are small.
double spectral(const Bits& bits);
enum class Direction : std::uint8_t { forward, backward };
double cumulative_sums(const Bits& bits, Direction direction);

struct Outcome {
  std::string test{};
  double p = 0;
};
// All of them, with the block lengths that the standard recommends.
std::vector<Outcome> all_tests(const Bits& bits);

// Shannon's entropy of words of eight bits, per bit: 1 for random ones, less a little by chance.
double entropy(const Bits& bits);

}  // namespace stab::randomness
