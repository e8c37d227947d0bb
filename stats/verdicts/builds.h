// SPDX-License-Identifier: MIT
// Settles comparisons by facts of their builds: some numbers belong to a build, so that more trials
// give no more of them, and some levels have builds that are the same program.
#pragma once

#include "stats/data/notes.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// If Spec::origin says that the numbers come from builds, comparisons whose numbers do not vary
// lose their test and interval: a fact of a build differs by exactly this amount, and it is unknown
// how a number varies that was measured once while each program was built. If builds are drawn at
// random (Spec::drawn), equal differences that are too few to count as exact in trials
// (own_error.h) say nothing about other builds, so there is no verdict. Comparisons whose numbers
// vary, because units have builds of their own, keep both, and so do statements about subjects like
// these.
void settle_of_builds(Analysis& analysis, Notes& notes);

// Gives the comparisons that the spec calls alike the verdict `same`, with the reason: levels that
// are the same program differ only by noise. These comparisons have no p, so they belong to no
// family, and other p are not corrected for them. They keep their change and its interval, which
// show how large the noise is here.
void settle_alike(Analysis& analysis, Notes& notes);

}  // namespace stab::stats
