// SPDX-License-Identifier: MIT
// Permutation tests of two levels that are compared within strata, one stratum for each combination
// of the other treatments' levels. How often would the numbers be as far apart if they were dealt
// at random to the two sides of their own stratum? No number moves to another stratum, so strata
// may differ in any way. Subtracting their means and dealing over all of them would ignore that the
// means are estimates, and would reject too often if strata are small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"

namespace stab::stats {

struct Stratum {
  std::vector<double> base{};
  std::vector<double> level{};
};

struct PermutationOptions {
  std::uint64_t seed = 0;
  std::size_t most_exact = 100'000;  // up to this many arrangements, all are counted
  std::size_t drawn = 9'999;         // otherwise this many are drawn at random
};

struct PermutationTest {
  double statistic = 0;
  double p = 0;                  // two-sided; drawn: (arrangements as far apart + 1) / (drawn + 1)
  std::size_t arrangements = 0;  // the number of arrangements that were counted
  bool exact = false;
};

// With fewer arrangements no p could be below 5 %, so there is no test.
constexpr std::size_t fewest_arrangements = 20;

// Both tests hold their level exactly, drawn or not (Phipson and Smyth, 2010), if both sides of
// each stratum have the same distribution. Each stratum needs a number on both sides, and in some
// stratum the numbers must not all be equal.

// The statistic is the mean over strata of the differences of means, level - base (Fisher, 1935;
// Pitman, 1937).
Result<PermutationTest> permutation_test(std::span<const Stratum> strata,
                                         const PermutationOptions& options);

// The stratified rank-sum test (van Elteren, Bulletin of the International Statistical Institute
// 1960). The statistic is a sum over strata: the sum of the level's ranks minus its expectation,
// divided by the size of the stratum + 1. With one stratum it is Wilcoxon's test; wilcoxon.h has
// that test with a shift.
Result<PermutationTest> stratified_rank_sum(std::span<const Stratum> strata,
                                            const PermutationOptions& options);

}  // namespace stab::stats
