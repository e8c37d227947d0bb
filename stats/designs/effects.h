// SPDX-License-Identifier: MIT
// Makes effects and interactions from estimates: changes with intervals and p-values. Also has the
// contrasts of cells that are estimated, and changes of the variance. decide.h adds the verdicts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stats/data/notes.h"
#include "stats/data/prepare_data.h"
#include "stats/data/terms.h"
#include "stats/models/own_error.h"
#include "stats/tests/estimate.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Two levels of a treatment that are compared, and the subjects in which they are compared.
struct Comparison {
  std::string subject{};
  Scope scope = Scope::subject;
  std::size_t treatment = 0;
  std::size_t base = 0;
  std::size_t level = 0;
};

// Compares each active treatment's levels with its first one, or all pairs of levels.
std::vector<Comparison> comparisons(const Prepared& data, const std::string& subject,
                                    Scope scope = Scope::subject);

// Returns the comparison that the effect is about.
std::optional<Comparison> comparison_of(const Prepared& data, const Effect& effect);

// The origin of an estimate, in words.
struct Source {
  std::string method{};  // "block:opt"
  std::string unit{};    // "block"
};

// Without an estimate or its error, the effect lacks the unknown numbers, and a note says why.
Effect make_effect(const Prepared& data, const Comparison& comparison,
                   const std::optional<Estimate>& estimate, const Source& source, Notes& notes);

// Estimates an estimand from these units, whose mean is known. Returns nothing if the units are too
// few.
std::optional<Estimate> estimate_of(const Prepared& data, Estimand estimand,
                                    const UnitNumbers& numbers, const Estimate& mean);

// The same for an estimate over units whose numbers are known. The spec's estimand decides, and the
// other averages stand beside it. If there are no numbers, or too few, the effect is about the
// mean.
Effect make_effect(const Prepared& data, const Comparison& comparison,
                   const std::optional<Estimate>& mean, const UnitNumbers& numbers,
                   const Source& source, Notes& notes);

// Sets low_adjusted and high_adjusted of all effects: each family's intervals hold together with
// probability 1 - alpha (Bonferroni).
void set_adjusted_intervals(const Prepared& data, Analysis& analysis);

// Comparisons of cells with weights: a treatment's effect, or an interaction of treatments with two
// levels each. Both are averaged over the other treatments.

// The cells at the baseline, and the cells at the level, with the same levels of the other
// treatments.
struct Sides {
  std::vector<std::size_t> base{};
  std::vector<std::size_t> level{};
};
// Returns the sides as indices into `cells`. Uses only pairs of cells that the subject has.
Sides sides(const Prepared& data, const std::vector<Group>& cells, const Comparison& comparison);

// The mean at the level minus the mean at the baseline, both over the pairs of sides().
Contrast contrast_of(const Prepared& data, const std::vector<Group>& cells,
                     const Comparison& comparison);

// The difference of differences, or for three treatments the difference of such differences. It has
// no weights if the subject lacks a cell that is needed.
Contrast interaction_contrast(const Prepared& data, const std::vector<Group>& cells,
                              std::uint32_t term);

// Returns the interactions that have such weights, as bits of treatments.
std::vector<std::uint32_t> two_level_interactions(const Prepared& data);

// The same differences between the first level and each other level of each of the term's
// treatments, apart from the control's level. Each is averaged over those levels of the other
// treatments at which the subject has all cells that are needed. Without an interaction, all of
// these differences are 0. If the subject's cells allow no such difference, another combination of
// levels takes the place of the first levels. The result is empty if no combination can, and for
// fractions of all cells.
std::vector<Contrast> level_contrasts(const Prepared& data, const std::vector<Group>& cells,
                                      std::uint32_t term);

// Returns the trials' distances from their cell's mean, by cell.
std::vector<std::vector<double>> by_cell_deviations(const Subject& subject,
                                                    const std::vector<Group>& cells);

// Compares the variances of cells, with weights like those of contrasts; see variances.h.
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

// The largest error of each cell's mean by the clock's steps, on the model's scale. Empty: the
// steps are too fine to matter.
std::vector<double> step_errors(const Prepared& data, const Subject& subject);
// The largest error of a contrast of cells that have these errors.
double bound_of(std::span<const double> errors, const Contrast& contrast);

// Estimates a contrast of a subject's cells with the method of a design; nothing if that is
// impossible.
using Estimator = std::function<std::optional<Estimate>(const Contrast&)>;

// The cells of a subject or of a suite, and how contrasts of them are estimated.
struct TestedCells {
  std::string subject{};
  Scope scope = Scope::subject;
  std::vector<Group> cells{};    // from by_cell()
  std::vector<double> errors{};  // from step_errors()
  Estimator estimator{};
  std::size_t order = most_treatments;  // the estimator knows no interaction of more treatments
  SpreadOf spread{};                    // empty: variances are not compared
};

// Adds all interactions that these cells allow, but not those with a treatment whose levels are
// sessions (Spec::sessions). If each treatment has two levels, the interaction has a size.
// Otherwise it has only a p: the smallest p of its level_contrasts(), times their number
// (Bonferroni). Without Spec::assumptions, designs with more than 1000 cells get no interactions;
// with it, they get only those that have a size. A note says which interactions are not tested,
// and why. Without Spec::interactions, nothing is added.
void add_interactions(const Prepared& data, const TestedCells& tested, Analysis& analysis,
                      Notes& notes);

}  // namespace stab::stats
