// SPDX-License-Identifier: MIT
// Comparisons of levels that are the same program, which differ in nothing but noise.
#pragma once

#include "stats/data/notes.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Gives the comparisons that the spec calls alike the verdict `same`, with the reason. They have no
// p, so that they belong to no family and other p are not corrected for them. They keep their
// change and its interval, which show what noise does here.
void settle_alike(Analysis& analysis, Notes& notes);

}  // namespace stab::stats
