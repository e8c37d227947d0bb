// SPDX-License-Identifier: MIT
// The error of a comparison is its own: the variation of the comparison itself between units that
// are independent of each other. A unit is a block, a subject, a seed, or, where nothing ties them,
// a trial.
//
// Layouts that are drawn per block change what treatments do, so a treatment's effect varies from
// block to block, each treatment's by its own amount. A residual that is pooled over treatments,
// or over the trials of a block, lacks that variation (doc/decisions/0009).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stats/data/prepare.h"
#include "stats/tests/estimate.h"

namespace stab::stats {

// A comparison of cells: weights, one for each of a subject's cells as by_cell() orders them.
struct Contrast {
  std::vector<double> weights{};  // they sum to 0; empty: the subject lacks a cell that is needed
  std::vector<double> base{};  // of the mean that a ratio refers to; empty: there is no such mean
};

// The contrast in each unit. All three vectors have one length, but `base` may be empty.
struct UnitNumbers {
  std::vector<std::uint32_t> units{};  // which, rising
  std::vector<double> difference{};
  std::vector<double> base{};
};

// The contrast in each block of the subject that has every cell with a weight. The trials of a
// block in one cell count as one number, their mean.
UnitNumbers block_numbers(const Subject& subject, const std::vector<Group>& cells,
                          const Contrast& contrast);

// Reduces each of these to the units that all of them have.
std::vector<UnitNumbers> in_common(std::span<const UnitNumbers> all);

// The mean over `all`, unit by unit; all have the same units. Empty if `all` is.
UnitNumbers averaged(std::span<const UnitNumbers> all);

// Fewer equal numbers than these may be equal by chance or by rounding: nothing is exact then.
inline constexpr std::size_t least_exact = 5;

// Whether no unit is in two of these, so that they are independent of each other.
bool are_disjoint(std::span<const UnitNumbers> all);

// The mean over n units, with n - 1 degrees of freedom. Differences that vary by no more than
// rounding (`noise` as in Prepared) count as equal: the mean of five or more of them is exact, that
// of fewer has no error.
Estimate mean_of(const UnitNumbers& numbers, double noise);

// With fewer units nothing can be learnt of how neighbours depend on each other.
inline constexpr std::size_t least_for_dependence = 10;

// The mean over units that were run one after the other, in the order of `rank` (by unit; empty: as
// they are numbered). Neighbours may be alike, so the error is that of a first-order autoregressive
// series. Its correlation comes from the data, without the bias of short series, a quarter of a
// standard error higher and never below 0, and the degrees of freedom are those of as many independent units. Below least_for_dependence
// units it is mean_of().
Estimate mean_over_time(const UnitNumbers& numbers, std::span<const std::uint32_t> rank,
                        double noise);

inline constexpr double trimmed_share = 0.2;  // of the units, at each end
// The mean without a fifth of the units at each end, with the error of the winsorized numbers
// (Tukey and McLaughlin, 1963; Yuen, Biometrika 1974): what a typical unit does. It needs five
// units. `mean` is their mean_over_time(), mean_of() or crossed_mean_of(), by whose allowance for
// dependence or for the blocks' part its own error grows.
std::optional<Estimate> trimmed_mean_of(const UnitNumbers& numbers, const Estimate& mean,
                                        double noise);

inline constexpr std::size_t least_for_median = 6;  // fewer have no 95 % interval
// The median of the units' numbers, of which half are larger and half are smaller, with the sign test
// and its interval. `mean` as for trimmed_mean_of(): the units count as as many independent ones, and
// the blocks' part widens the interval. It needs six units.
std::optional<Estimate> median_of(const UnitNumbers& numbers, const Estimate& mean, double noise);

// Whether so few independent units remain that interval and p hold less often than they say.
bool too_few_independent(const Estimate& estimate);

// The mean over subjects, where both subjects and blocks are samples. `all` has the same units for
// each subject, two or more subjects and two or more units. A block draws its layouts for all
// subjects, so what it does to a change is common to them, and more subjects do not average it out.
// The variance is the sum of the parts of subjects, of blocks and of their interaction (Clark,
// Journal of Verbal Learning and Verbal Behavior 1973: quasi-F). Its degrees of freedom are
// Satterthwaite's, but at least the fewer of those of subjects and of blocks. More subjects
// would leave Estimate::fixed, which is the blocks' part. `over_time` is mean_over_time() of
// the means over subjects, by which the blocks' part grows; nothing: blocks are independent.
Estimate crossed_mean_of(std::span<const UnitNumbers> all, double noise,
                         const std::optional<Estimate>& over_time = {});

// The degrees of freedom of a sum of independent variances, which come with their own
// (Satterthwaite, Biometrics Bulletin 1946). If all variances are 0 it is the fewest of these;
// without variances it is 0.
double satterthwaite(std::span<const std::pair<double, double>> variances);

// The mean of estimates that are independent of each other, with Satterthwaite's degrees of
// freedom. It has no error if one of them has none, or if there are none.
Estimate mean_of(std::span<const Estimate> estimates);

}  // namespace stab::stats
