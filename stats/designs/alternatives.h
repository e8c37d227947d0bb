// SPDX-License-Identifier: MIT
// The same comparisons by other means, which assume less; they stand beside the result and do not
// replace it, so that no pretest chooses what is reported.
#pragma once

#include <span>

#include "stats/data/prepare.h"
#include "stats/designs/effects.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Of one subject. With blocks: the signed-rank test of the differences within blocks. Without: the
// rank-sum and a permutation test, within the pairs of cells that have the other treatments' levels
// in common, so that what those do has no part in it; of nested designs on the seeds' means.
// Nothing above 2000 numbers a side.
void add_alternatives(const Prepared& data, const Subject& subject, const Comparison& comparison,
                      Effect& effect);

// The signed-rank test of units' differences.
void add_unit_alternatives(const Prepared& data, const UnitNumbers& numbers, Effect& effect);

}  // namespace stab::stats
