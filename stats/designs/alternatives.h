// SPDX-License-Identifier: MIT
// The same comparisons by methods that assume less: tests of ranks, permutation tests and
// randomization tests. They stand beside the result and do not replace it, so that no preliminary
// test chooses the reported result.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "stats/data/prepare_data.h"
#include "stats/designs/effects.h"
#include "stats/tests/randomization.h"
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

// The randomization test beside the test of blocks (or of seeds, or trials), if the order was
// drawn. Labels are dealt again as each design drew them:
//  - With blocks, the two levels change places in a whole block, for all programs in it. The result
//    is one of the orders that the block could have drawn, however many levels and treatments it
//    has.
//  - In nested designs, seeds go to other levels with all of their runs.
//  - Without blocks, trials go to other levels of the same cells of the other treatments.
// Fractional designs have no such test: if two levels change places, so do levels of other
// treatments.

// For blocks, whose differences are `numbers`; `family` comparisons are corrected for each other.
void add_randomization(const Prepared& data, const UnitNumbers& numbers, std::size_t family,
                       Effect& effect);
// For trials or the means of seeds.
void add_randomization(const Prepared& data, const Subject& subject, const Comparison& comparison,
                       std::size_t family, Effect& effect);

}  // namespace stab::stats
