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

}  // namespace stab::stats
