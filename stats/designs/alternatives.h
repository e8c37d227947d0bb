// SPDX-License-Identifier: MIT
// The same comparisons by methods that assume less. They stand beside the result and do not replace
// it, so that no preliminary test chooses the reported result.
#pragma once

#include <span>
#include <vector>

#include "stats/data/prepare.h"
#include "stats/designs/effects.h"
#include "stats/tests/permutation.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// For one subject. With blocks, adds the signed-rank test of the differences within blocks. Without
// blocks, adds the rank-sum and a permutation test; these compare within pairs of cells that share
// the levels of the other treatments, so that the other treatments have no influence. In nested
// designs the numbers are the means of seeds. Adds nothing above 2000 numbers a side.
void add_alternatives(const Prepared& data, const Subject& subject, const Comparison& comparison,
                      Effect& effect);

// The numbers of both sides: trials, or in nested designs the means of seeds. Each pair of cells
// that share the levels of the other treatments is a stratum.
std::vector<Stratum> strata_of(const Prepared& data, const Subject& subject,
                               const Comparison& comparison);

// Adds the signed-rank test of the units' differences.
void add_unit_alternatives(const Prepared& data, const UnitNumbers& numbers, Effect& effect);

}  // namespace stab::stats
