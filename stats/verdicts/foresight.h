// SPDX-License-Identifier: MIT
// The effects that an experiment could have found, and the units that a smaller effect would take.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stats/data/prepare_data.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

inline constexpr double foreseen_power = 0.8;

// Sets `detectable` and `needed` of the effects that have an error and a number of units, at each
// effect's own level after the correction for its family.
void add_foresight(const Prepared& data, Analysis& analysis);

// The number of units needed to find a change as large as the margin, at this level. Nothing if the
// effect has no error, or needs more than 10 million units.
std::optional<std::size_t> units_needed(const Effect& effect, double alpha, double margin);

// "With 4 degrees of freedom from 5 programs only large effects can be seen: more programs would
// help", once for each kind of unit that has so few. Skips effects that something else decides.
std::vector<std::string> few_sentences(const std::vector<const Effect*>& effects);

}  // namespace stab::stats
