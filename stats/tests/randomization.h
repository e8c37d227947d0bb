// SPDX-License-Identifier: MIT
// Tests that deal numbers or labels again and count how often chance alone does as much:
// permutation tests within strata, and randomization tests, which deal labels as the order was
// drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "stats/numbers/summary.h"

namespace stab::stats {

// Permutation tests of two levels that are compared within strata, one stratum for each combination
// of the other treatments' levels. How often would the numbers be as far apart if they were dealt
// at random to the two sides of their own stratum? No number moves to another stratum, so strata
// may differ in any way. Subtracting their means and dealing over all of them would ignore that the
// means are estimates, and would reject too often if strata are small.

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

// Randomization tests: how often would the order that was drawn give a comparison as far from zero
// if the levels did nothing in any block? The labels are dealt again as they were drawn, so the
// tests are exact for that hypothesis, for any kind of noise (Fisher, 1935). They say nothing about
// a mean effect that differs from block to block, so verdicts also need the block test.
//
// Arrangements are drawn from a stated seed if there are too many to count. `p_low` and `p_high`
// contain the p of all arrangements with probability 1 - 1e-5, and draws go on while one of the
// limits lies between them, so that chance can't make a verdict.

struct RandomizationOptions {
  std::uint64_t seed = 0;
  double alpha = 0.05;               // of the interval
  std::vector<double> limits{};      // the smallest and the largest p that a verdict may need
  double share = 0;                  // cut off at each end of the numbers (for a typical run)
  std::optional<Interval> margin{};  // the differences that do not matter
};

// A p, as precisely as the draws determine it.
struct DrawnP {
  double p = 1;
  double low = 1;  // bounds of the p of all arrangements
  double high = 1;
};

struct RandomizationTest {
  DrawnP differs{};              // p of "nothing differs", two-sided
  std::optional<DrawnP> same{};  // p of "the difference is outside of the margin"
  // The (1 - alpha) interval of a difference that is the same in all units. Absent if there are too
  // few arrangements, or if numbers are cut off.
  std::optional<Interval> interval{};
  std::size_t units = 0;  // the units that were dealt, each as a whole
  std::size_t draws = 0;  // arrangements that were counted
  bool all = false;       // the draws are all arrangements
  double least = 1;       // the smallest two-sided p that this number of units can have
  bool settled = true;    // no limit lies between `low` and `high`
};

// Each number is a block's difference between two levels, which has the other sign if the order had
// been the other way around. The statistic is the mean; dividing it by its standard error gives the
// same test. With a share, the statistic is the trimmed mean divided by its winsorized error (Yuen,
// 1974). The interval is that of typical values (Hartigan, JASA 1969): quantiles of the means of
// random subsets. If there are more than 2048 numbers, neighbours form runs that change their sign
// together. Returns nothing for fewer than two numbers.
std::optional<RandomizationTest> test_signs(std::span<const double> differences,
                                            const RandomizationOptions& options);

// Tests numbers that were dealt to two levels, in strata. The statistic is the mean of the strata's
// differences divided by its standard error (Welch's), so that unequal variances do not disturb it
// (Janssen, Statistics and Probability Letters 1997). If there are many numbers, the means of
// neighbours are dealt. Returns nothing if a side has fewer than two.
std::optional<RandomizationTest> test_deals(std::span<const Stratum> strata,
                                            const RandomizationOptions& options);

}  // namespace stab::stats
