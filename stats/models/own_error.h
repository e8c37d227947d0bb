// SPDX-License-Identifier: MIT
// The error of a comparison is its own: how much the comparison itself varies between units that
// are independent of each other. A unit is a block, a subject, a seed, or, where nothing ties them,
// a trial.
//
// Layouts that are drawn per block change what treatments do, so a treatment's effect varies from
// block to block, each treatment's by its own amount. A residual that is pooled over treatments,
// or over the trials of a block, does not have that variation in it (doc/decisions/0009).
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

// What each unit says of a contrast; all three are of one length, `base` may be empty.
struct UnitNumbers {
  std::vector<std::uint32_t> units{};  // which, rising
  std::vector<double> difference{};
  std::vector<double> base{};
};

// Of those of the subject's blocks that have every cell with a weight. The trials of a block in one
// cell are one number, their mean.
UnitNumbers block_numbers(const Subject& subject, const std::vector<Group>& cells,
                          const Contrast& contrast);

// Each of these for the units only that all of them have.
std::vector<UnitNumbers> in_common(std::span<const UnitNumbers> all);

// The mean of numbers of the same units, unit by unit. Nothing of nothing.
UnitNumbers averaged(std::span<const UnitNumbers> all);

// Fewer equal numbers than these may be equal by chance or by rounding: nothing is exact then.
inline constexpr std::size_t least_exact = 5;

// Whether no unit is in two of these: then they are independent of each other.
bool are_disjoint(std::span<const UnitNumbers> all);

// The mean over units, with one degree of freedom less than units. Differences that vary by no more
// than rounding (`noise` as in Prepared) do not vary: of five or more the mean is exact, of fewer
// it has no error.
Estimate mean_of(const UnitNumbers& numbers, double noise);

// The mean over subjects of which these are a sample, in blocks that are a sample, too: `all` has
// the same units for each, two subjects and two units or more. Blocks draw their layouts for all
// subjects, so what a block does to a change is common to them, and more subjects do not average it
// out: the variance has the part of subjects, that of blocks, and their interaction once (Clark,
// Journal of Verbal Learning and Verbal Behavior 1973: quasi-F), with Satterthwaite's degrees of
// freedom, but no fewer than the fewer of the two have. `units`: the subjects, if blocks have no
// part of their own.
Estimate crossed_mean_of(std::span<const UnitNumbers> all, double noise);

// The degrees of freedom of a sum of independent variances, each with its own (Satterthwaite,
// Biometrics Bulletin 1946); the fewest of them if all variances are 0, 0 of none.
double satterthwaite(std::span<const std::pair<double, double>> variances);

// The mean of estimates that are independent of each other, with Satterthwaite's degrees of
// freedom. Without error if one of them is; none of them: no error.
Estimate mean_of(std::span<const Estimate> estimates);

}  // namespace stab::stats
