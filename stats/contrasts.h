// SPDX-License-Identifier: MIT
// Comparisons of cells with weights: a treatment's effect or an interaction of treatments with two
// levels each, averaged over the other treatments.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stats/analysis.h"
#include "stats/effects.h"
#include "stats/notes.h"
#include "stats/prepare.h"

namespace stab::stats {

// The difference of differences, of three treatments the difference of such differences. Without
// weights if the subject lacks a cell that is needed.
Contrast interaction_contrast(const Prepared& data, const std::vector<Group>& cells,
                              std::uint32_t term);

// Interactions that have such weights, as bits of treatments.
std::vector<std::uint32_t> two_level_interactions(const Prepared& data);

// The trials' distances from their cell's mean, by cell.
std::vector<std::vector<double>> by_cell_deviations(const Subject& subject,
                                                    const std::vector<Group>& cells);

// The difference of log variances with these weights as a ratio, with an interval that holds for
// numbers that are not normal (Bonett: Robust confidence interval for a ratio of standard
// deviations, Applied Psychological Measurement 2006, carried over to several cells: pooled
// kurtosis, one term a cell). Nothing unless each cell with a weight has five varying numbers.
std::optional<Spread> spread_of(const std::vector<std::vector<double>>& deviations,
                                std::span<const double> weights, double alpha, double noise);

// The mean of subjects' log ratios with Student's interval: the ratio over a suite. Nothing below
// three subjects, or if they do not vary.
std::optional<Spread> spread_over(std::span<const double> ratios, double alpha);

}  // namespace stab::stats
