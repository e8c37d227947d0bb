// SPDX-License-Identifier: MIT
// Each comparison has its own error: the variation of the comparison itself between independent
// units. A unit is a block, a subject, a seed, or, if nothing ties trials together, a trial:
// Welch's tests are for such trials.
//
// Layouts that are drawn for each block change the effects of treatments, so a treatment's effect
// varies from block to block, and each treatment's effect varies by its own amount. A residual that
// is pooled over treatments, or over the trials of a block, lacks that variation
// (doc/decisions/0009).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stats/data/prepare_data.h"
#include "stats/numbers/summary.h"
#include "stats/tests/estimate.h"

namespace stab::stats {

// A comparison of cells: one weight for each of a subject's cells, in the order of by_cell().
struct Contrast {
  std::vector<double> weights{};  // sum 0; empty: the subject lacks a cell that is needed
  std::vector<double> base{};     // weights of the mean that a ratio refers to; empty: no such mean
};

// The contrast in each unit. All three vectors have the same length, except that `base` may be
// empty.
struct UnitNumbers {
  std::vector<std::uint32_t> units{};  // the units' codes, rising
  std::vector<double> difference{};
  std::vector<double> base{};
};

// The contrast in each block of the subject that has all cells with a weight. The trials of a block
// in one cell count as one number, their mean.
UnitNumbers block_numbers(const Subject& subject, const std::vector<Group>& cells,
                          const Contrast& contrast);

// Reduces each element to the units that all elements have.
std::vector<UnitNumbers> in_common(std::span<const UnitNumbers> all);

// The mean over `all`, unit by unit. All elements have the same units. The result is empty if `all`
// is.
UnitNumbers averaged(std::span<const UnitNumbers> all);

// Fewer equal numbers than these may be equal by chance or by rounding, so they are not exact.
inline constexpr std::size_t least_exact = 5;

// Returns whether the elements are independent because no unit is in two of them.
bool are_disjoint(std::span<const UnitNumbers> all);

// The mean over n units, with n - 1 degrees of freedom. Differences that vary by no more than
// rounding (`noise` as in Prepared) count as equal. The mean of five or more equal differences is
// exact, and the mean of fewer has no error.
Estimate mean_of(const UnitNumbers& numbers, double noise);

// Fewer units don't show how neighbours depend on each other.
inline constexpr std::size_t least_for_dependence = 10;

// The mean over units that were run one after the other, in the order of `rank` (by unit; if empty,
// in the order of their numbers). Neighbours may be alike, so the error is that of a first-order
// autoregressive series. Its correlation is estimated from the data, corrected for the bias of
// short series, raised by a quarter of its standard error, and never below 0. The degrees of
// freedom are those of as many independent units. Below least_for_dependence units the result is
// mean_of().
Estimate mean_over_time(const UnitNumbers& numbers, std::span<const std::uint32_t> rank,
                        double noise);

inline constexpr double trimmed_share = 0.2;  // share of the units that is cut off at each end
// The mean without a fifth of the units at each end, which shows what a typical unit does, with the
// error of the winsorized numbers (Tukey and McLaughlin, 1963; Yuen, Biometrika 1974). It needs
// five units. `mean` is the units' mean_over_time(), mean_of() or crossed_mean_of(); the error here
// grows by the same allowance for dependence or for the blocks' part.
std::optional<Estimate> trimmed_mean_of(const UnitNumbers& numbers, const Estimate& mean,
                                        double noise);

inline constexpr std::size_t least_for_median = 6;  // fewer have no 95 % interval
// The median of the units' numbers: half are larger and half are smaller. It has the sign test and
// its interval. `mean` is as for trimmed_mean_of(): the units count as that many independent ones,
// and the blocks' part widens the interval. It needs six units.
std::optional<Estimate> median_of(const UnitNumbers& numbers, const Estimate& mean, double noise);

// Returns whether so few independent units remain that interval and p hold less often than they
// claim.
bool too_few_independent(const Estimate& estimate);

// The mean over subjects if both subjects and blocks are samples. `all` has the same units for each
// subject, two or more subjects and two or more units. A block draws its layouts for all subjects,
// so its influence on a change is common to them, and more subjects do not average it out. The
// variance is the sum of the parts of subjects, of blocks and of their interaction (Clark, Journal
// of Verbal Learning and Verbal Behavior 1973: quasi-F). Its degrees of freedom are
// Satterthwaite's, but at least the smaller of those of subjects and of blocks. The blocks' part is
// Estimate::fixed, which more subjects would not reduce. `over_time` is mean_over_time() of the
// means over subjects, by which the blocks' part grows; if absent, blocks are independent.
Estimate crossed_mean_of(std::span<const UnitNumbers> all, double noise,
                         const std::optional<Estimate>& over_time = {});

// The degrees of freedom of a sum of independent variances, each given with its own (Satterthwaite,
// Biometrics Bulletin 1946). If all variances are 0, the result is the smallest of their degrees of
// freedom; without variances it is 0.
double satterthwaite(std::span<const std::pair<double, double>> variances);

// The mean of estimates that are independent of each other, with Satterthwaite's degrees of
// freedom. It has no error if one of them has no error, or without estimates.
Estimate mean_of(std::span<const Estimate> estimates);

// Welch's t-test for means of independent numbers whose variances may differ.

// The mean of b minus the mean of a, with Satterthwaite's degrees of freedom (Welch, Biometrika
// 1947). With fewer than two numbers in a group the estimate has no error.
Estimate welch(const Moments& a, const Moments& b);

// The same for a contrast of cells, one for each weight. Each cell has its own variance.
Estimate welch(std::span<const Moments> cells, const Contrast& contrast);

struct EqualMeans {
  double f = 0;
  double df = 0;
  double error_df = 0;
  double p = 1;
};

// Welch's analysis of variance (Biometrika 1951; R: oneway.test): tests whether independent
// estimates of several groups are all equal, although their variances differ. An estimate without
// an error, or with a variance of 0, takes no part. Returns nothing for fewer than two estimates.
std::optional<EqualMeans> test_equal(std::span<const Estimate> estimates);

}  // namespace stab::stats
