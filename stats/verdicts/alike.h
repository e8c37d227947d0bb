// SPDX-License-Identifier: MIT
// Levels that are the same program: they differ in nothing but noise.
#pragma once

#include "stats/data/notes.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Gives the comparisons that the spec calls alike the verdict `same` with the reason. They get no
// p, so that they belong to no family and nothing is corrected for them. Their change and its
// interval stay: they show what noise does here.
void settle_alike(Analysis& analysis, Notes& notes);

}  // namespace stab::stats
