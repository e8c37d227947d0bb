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

// The mean over subjects, where both subjects and blocks are samples. `all` has the same units for
// each subject, two or more subjects and two or more units. A block draws its layouts for all
// subjects, so what it does to a change is common to them, and more subjects do not average it out.
// The variance is the sum of the parts of subjects, of blocks and of their interaction (Clark,
// Journal of Verbal Learning and Verbal Behavior 1973: quasi-F). Its degrees of freedom are
// Satterthwaite's, but at least the fewer of those of subjects and of blocks. Estimate::units is
// the number of subjects if blocks have no part of their own.
Estimate crossed_mean_of(std::span<const UnitNumbers> all, double noise);

// The degrees of freedom of a sum of independent variances, which come with their own
// (Satterthwaite, Biometrics Bulletin 1946). If all variances are 0 it is the fewest of these;
// without variances it is 0.
double satterthwaite(std::span<const std::pair<double, double>> variances);

// The mean of estimates that are independent of each other, with Satterthwaite's degrees of
// freedom. It has no error if one of them has none, or if there are none.
Estimate mean_of(std::span<const Estimate> estimates);

}  // namespace stab::stats
