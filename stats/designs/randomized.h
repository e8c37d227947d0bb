// SPDX-License-Identifier: MIT
// The randomization test beside the test of blocks (or of seeds, or trials), where the order was
// drawn. Labels are dealt again as each design drew them:
//  - in blocks, the two levels change places in a whole block, for all programs in it. That is one of
//    the orders that the block could have drawn, however many levels and treatments it has.
//  - in nested designs, seeds go to other levels with all of their runs.
//  - without blocks, trials go to other levels of the same cells of the other treatments.
// Fractional designs have none: where two levels change places, so do those of other treatments.
#pragma once

#include <string>

#include "stats/data/prepare.h"
#include "stats/designs/effects.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Of blocks, whose differences are `numbers`; `family` comparisons are corrected for each other.
void add_randomization(const Prepared& data, const UnitNumbers& numbers, std::size_t family,
                       Effect& effect);
// Of trials or the means of seeds.
void add_randomization(const Prepared& data, const Subject& subject, const Comparison& comparison,
                       std::size_t family, Effect& effect);

}  // namespace stab::stats
