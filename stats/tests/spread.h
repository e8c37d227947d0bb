// SPDX-License-Identifier: MIT
// Does the variance change between cells? Weights of cells sum to 0, as for means: they are applied
// to log variances, so that two cells give a ratio, and an interaction a ratio of ratios.
//
// What is compared are distances from each cell's median, because tests of them keep their level
// whatever the shape of the noise (Brown and Forsythe, JASA 1974; within pairs: Grambsch,
// Biometrika 1994), which tests of squares do not. `ratio` is that of squared mean distances: the
// ratio of variances if the cells differ in scale only.
//
// Cells are divided by the scales that fit them best if the null hypothesis holds; p is of
// Student's t of the weighted mean distances, with the smallest cell's n - 1 degrees of freedom.
// The interval is on the log scale, with the error that makes this t of the difference (Miettinen,
// American Journal of Epidemiology 1976), so that p < alpha exactly if it excludes 1.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stab::stats {

// How a treatment changes the variance of trials within a cell.
struct Spread {
  double ratio = 1;  // variance at `level` / variance at `baseline`
  double low = 0;    // the (1 - alpha) interval
  double high = 0;
  double p = 1;
};

// Fewer numbers have neither p nor interval. From this bound on the level holds for all shapes of
// noise that were simulated (doc/statistics.md).
constexpr std::size_t least_for_spread = 6;

// Each row is a block and has a number of each cell; the cells of a block may depend on each other.
// The result is nothing below `least_for_spread` blocks, or if a cell with a weight does not vary.
std::optional<Spread> spread_within_blocks(std::span<const std::vector<double>> blocks,
                                           std::span<const double> weights, double alpha);

// The numbers of each cell; all are independent. The result is nothing if a cell with a weight has
// fewer than `least_for_spread` numbers or does not vary.
std::optional<Spread> spread_between_cells(std::span<const std::vector<double>> cells,
                                           std::span<const double> weights, double alpha);

}  // namespace stab::stats
