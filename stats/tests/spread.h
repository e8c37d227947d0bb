// SPDX-License-Identifier: MIT
// Tests whether the variance changes between cells. The weights of cells sum to 0, as for means.
// They are applied to log variances, so two cells give a ratio, and an interaction gives a ratio of
// ratios.
//
// The test compares distances from each cell's median. Such tests keep their level for any shape of
// the noise (Brown and Forsythe, JASA 1974; within pairs: Grambsch, Biometrika 1994), unlike tests
// of squares. `ratio` is the ratio of squared mean distances, which is the ratio of variances if
// the cells differ in scale only.
//
// Cells are divided by the scales that fit them best if the null hypothesis holds; p is from
// Student's t of the weighted mean distances, with the smallest cell's n - 1 degrees of freedom.
// The interval is on the log scale. Its error makes this t the t of the difference (Miettinen,
// American Journal of Epidemiology 1976), so p < alpha exactly if the interval excludes 1.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stab::stats {

// The change that a treatment makes to the variance of trials within a cell.
struct Spread {
  double ratio = 1;  // variance at `level` / variance at `baseline`
  double low = 0;    // the (1 - alpha) interval
  double high = 0;
  double p = 1;
};

// Fewer numbers have no p and no interval. With this many or more, the level holds for all shapes
// of noise that were simulated (doc/statistics.md).
constexpr std::size_t least_for_spread = 6;

// Takes the numbers of each cell, one for each block, in the same order; the cells of a block may
// depend on each other. Returns nothing below `least_for_spread` blocks, or if a cell with a weight
// does not vary.
std::optional<Spread> spread_within_blocks(std::span<const std::vector<double>> cells,
                                           std::span<const double> weights, double alpha);

// A cell as comparisons of variances see it.
struct CellSpread {
  std::size_t n = 0;
  double ss = 0;            // sum of squared distances from the mean
  double log_variance = 0;  // without a constant that all cells share
  double error = 0;  // variance of the mean of the distances, if each is divided by that mean
};
// Returns nothing if there are fewer than `least_for_spread` numbers, or if they do not vary.
std::optional<CellSpread> cell_spread(std::span<const double> values);

// Compares cells whose numbers are all independent. Returns nothing if a cell with a weight is
// absent.
std::optional<Spread> spread_between_cells(std::span<const std::optional<CellSpread>> cells,
                                           std::span<const double> weights, double alpha);

}  // namespace stab::stats
