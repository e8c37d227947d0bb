// SPDX-License-Identifier: MIT
// From estimates to effects: changes with intervals and p-values. The verdicts are decide.h's.
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

// The two levels of a treatment that are compared, and in which subjects.
struct Comparison {
  std::string subject{};
  Scope scope = Scope::subject;
  std::size_t treatment = 0;
  std::size_t base = 0;
  std::size_t level = 0;
};

// Each active treatment's levels against its first one, or all pairs of levels.
std::vector<Comparison> comparisons(const Prepared& data, const std::string& subject,
                                    Scope scope = Scope::subject);

// The comparison that an effect is of.
std::optional<Comparison> comparison_of(const Prepared& data, const Effect& effect);

// The origin of an estimate, in words.
struct Source {
  std::string method{};  // "block:opt"
  std::string unit{};    // "block"
};

// Without an estimate or its error the effect lacks what cannot be known, and a note says why.
Effect make_effect(const Prepared& data, const Comparison& comparison,
                   const std::optional<Estimate>& estimate, const Source& source, Notes& notes);

// The estimate of an estimand, whose mean over these units is known. Nothing: the units are too few.
std::optional<Estimate> estimate_of(const Prepared& data, Estimand estimand,
                                    const UnitNumbers& numbers, const Estimate& mean);

// The same of an estimate over units whose numbers are known: the estimand of the spec decides, and
// the other averages stand beside it. Without numbers, or where these are too few, it is the mean.
Effect make_effect(const Prepared& data, const Comparison& comparison,
                   const std::optional<Estimate>& mean, const UnitNumbers& numbers,
                   const Source& source, Notes& notes);

// Sets low_adjusted and high_adjusted of all effects: each family's intervals hold together with
// probability 1 - alpha (Bonferroni).
void set_adjusted_intervals(const Prepared& data, Analysis& analysis);

// The cells at the baseline, and those at the level with the same levels of the other treatments.
struct Sides {
  std::vector<std::size_t> base{};
  std::vector<std::size_t> level{};
};
// The sides as indices into `cells`. Only pairs of cells that the subject has are used.
Sides sides(const Prepared& data, const std::vector<Group>& cells, const Comparison& comparison);

// The mean at the level minus the mean at the baseline, both over the pairs of sides().
Contrast contrast_of(const Prepared& data, const std::vector<Group>& cells,
                     const Comparison& comparison);

}  // namespace stab::stats
