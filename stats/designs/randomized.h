// SPDX-License-Identifier: MIT
// The randomization test beside the test of blocks (or of seeds, or trials), if the order was
// drawn. Labels are dealt again as each design drew them:
//  - With blocks, the two levels change places in a whole block, for all programs in it. The result
//    is one of the orders that the block could have drawn, however many levels and treatments it
//    has.
//  - In nested designs, seeds go to other levels with all of their runs.
//  - Without blocks, trials go to other levels of the same cells of the other treatments.
// Fractional designs have no such test: if two levels change places, so do levels of other
// treatments.
#pragma once

#include <string>

#include "stats/data/prepare.h"
#include "stats/designs/effects.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// For blocks, whose differences are `numbers`; `family` comparisons are corrected for each other.
void add_randomization(const Prepared& data, const UnitNumbers& numbers, std::size_t family,
                       Effect& effect);
// For trials or the means of seeds.
void add_randomization(const Prepared& data, const Subject& subject, const Comparison& comparison,
                       std::size_t family, Effect& effect);

}  // namespace stab::stats
