// SPDX-License-Identifier: MIT
// What an experiment could have seen, and what it would take to see more.
#pragma once

#include "stats/data/prepare.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

inline constexpr double foreseen_power = 0.8;

// Sets `detectable` and `needed` of the effects whose error comes from units of one kind, at the
// level that each has after the correction for its family.
void add_foresight(const Prepared& data, Analysis& analysis);

// "With 4 degrees of freedom from 5 programs only large effects can be seen: more programs would
// help", once for each kind of unit of which there are so few. A note, or a part of the answer.
std::vector<std::string> few_sentences(const std::vector<const Effect*>& effects);

}  // namespace stab::stats
