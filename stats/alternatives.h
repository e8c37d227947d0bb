// SPDX-License-Identifier: MIT
// The same comparisons by other means, which assume less; they stand beside the result and do not
// replace it, so that no pretest chooses what is reported.
#pragma once

#include <span>

#include "stats/analysis.h"
#include "stats/effects.h"
#include "stats/prepare.h"

namespace stab::stats {

// Of one subject. With blocks: the paired t-test and the signed-rank test of the differences within
// blocks, each averaged over the other treatments. Without: the rank-sum and a permutation test,
// within the pairs of cells that have the other treatments' levels in common, so that what those do
// has no part in it; of nested designs on the seeds' means. Nothing above 2000 numbers a side.
void add_alternatives(const Prepared& data, const Subject& subject, const Comparison& comparison,
                      Effect& effect);

// Of all subjects: the signed-rank test of their means at the two levels.
void add_suite_alternatives(const Prepared& data, std::span<const double> base,
                            std::span<const double> level, Effect& effect);

}  // namespace stab::stats
