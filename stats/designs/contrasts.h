// SPDX-License-Identifier: MIT
// Comparisons of cells with weights: a treatment's effect, or an interaction of treatments with two
// levels each. Both are averaged over the other treatments.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "stats/data/notes.h"
#include "stats/data/prepare.h"
#include "stats/designs/effects.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// The difference of differences, or for three treatments the difference of such differences. It has
// no weights if the subject lacks a cell that is needed.
Contrast interaction_contrast(const Prepared& data, const std::vector<Group>& cells,
                              std::uint32_t term);

// Returns the interactions that have such weights, as bits of treatments.
std::vector<std::uint32_t> two_level_interactions(const Prepared& data);

// Returns the trials' distances from their cell's mean, by cell.
std::vector<std::vector<double>> by_cell_deviations(const Subject& subject,
                                                    const std::vector<Group>& cells);

// Compares the variances of cells, with weights like those of contrasts; see spread.h.
using SpreadOf = std::function<std::optional<Spread>(std::span<const double>)>;
// Each block that has all cells with a weight gives one number for each cell. The arguments must
// outlive the result.
SpreadOf spread_by_blocks(const Prepared& data, const Subject& subject,
                          const std::vector<Group>& cells);
// Uses all numbers of each cell, which are independent of each other.
SpreadOf spread_by_numbers(const Prepared& data, const std::vector<std::vector<double>>& cells);

// The mean of the subjects' log ratios with Student's interval: the ratio over a suite. Returns
// nothing below three subjects, or if they do not vary.
std::optional<Spread> spread_over(std::span<const double> ratios, double alpha);

}  // namespace stab::stats
