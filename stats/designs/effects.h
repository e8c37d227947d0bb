// SPDX-License-Identifier: MIT
// Makes effects from estimates: changes with intervals and p-values. decide.h adds the verdicts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stats/data/notes.h"
#include "stats/data/prepare.h"
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

}  // namespace stab::stats
