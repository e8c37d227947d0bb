// SPDX-License-Identifier: MIT
// What lost trials leave possible. A trial that failed, timed out or was excluded has no number, and
// the numbers that are left may say nothing of it. So each comparison that lost trials has bounds,
// with an interval that contains the one true change (Imbens and Manski, Econometrica 2004):
//  1. `extremes`: the comparison is computed twice, with each lost number as small and as large as its
//     limits permit. A trial that timed out took at least its limit. A number that a rule excluded lies
//     within those of its cell. Without a limit there is no bound.
//  2. `monotone`: Lee's bounds (Review of Economic Studies 2009) of single programs. They assume that
//     one level loses every trial that the other would lose, and some more.
//  3. Whatever the bounds, the dependence of losses on the cell is tested.
// A comparison whose sign the interval does not keep has no verdict; `same` needs all of it within the
// margin. With `random` the bounds of 1 are shown and decide nothing.
#pragma once

#include <cstddef>

#include "stats/data/notes.h"
#include "stats/data/prepare.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Sets the effect's loss_* if it lost trials, and takes back a verdict that they leave open. `family`:
// comparisons that are corrected for together with it.
void refuse_lost(const Prepared& data, std::size_t family, Effect& effect, Notes& notes);

}  // namespace stab::stats
