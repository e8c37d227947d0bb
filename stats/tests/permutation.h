// SPDX-License-Identifier: MIT
// Permutation tests of two levels that are compared within strata, one for each combination of the
// other treatments' levels: how often would the numbers, dealt to the two sides of their own
// stratum at random, be as far apart? Nothing moves between strata, so they may differ in any way:
// taking their means out and dealing over all of them would ignore that each mean is estimated, and
// reject too often where strata are small.
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
  std::size_t most_exact = 100'000;  // up to so many arrangements, all are looked at
  std::size_t drawn = 9'999;         // else so many are drawn at random
};

struct PermutationTest {
  double statistic = 0;
  double p = 0;  // two-sided; drawn: (those as far apart + 1) / (drawn + 1), never 0
  std::size_t arrangements = 0;  // that were looked at
  bool exact = false;
};

// Below so many arrangements no p can be 5 %, and there is no test.
constexpr std::size_t fewest_arrangements = 20;

// Both hold their level exactly, drawn or not (Phipson and Smyth, 2010), if within each stratum
// both sides are from one distribution. For one number or more on each side of each stratum, and
// some stratum whose numbers are not all equal.

// Statistic: the mean over strata of level's mean - base's mean (Fisher, 1935; Pitman, 1937).
Result<PermutationTest> permutation_test(std::span<const Stratum> strata,
                                         const PermutationOptions& options);

// The stratified rank-sum test (van Elteren, Bulletin of the International Statistical Institute
// 1960). Statistic: the sum over strata of level's ranks less those expected, by the stratum's size
// + 1. With one stratum it is Wilcoxon's; wilcoxon.h has that with a shift.
Result<PermutationTest> stratified_rank_sum(std::span<const Stratum> strata,
                                            const PermutationOptions& options);

}  // namespace stab::stats
