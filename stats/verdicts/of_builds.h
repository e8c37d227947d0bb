// SPDX-License-Identifier: MIT
// Comparisons of what trials do not measure: it is known of their build, and more trials of one
// build are no more numbers.
#pragma once

#include "stats/data/notes.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Where Spec::origin says so, comparisons whose numbers do not vary lose their test and interval:
// a fact of the build is different by exactly that, and of what was measured once while each
// program was built nobody knows how it would vary. Where builds are drawn at random (Spec::drawn)
// so few equal differences that they would not count as exact in trials (own_error.h) say nothing of
// other builds: no verdict. Those that vary, because units have builds of their own, keep both, and
// so does what is said of subjects like these.
void settle_of_builds(Analysis& analysis, Notes& notes);

}  // namespace stab::stats
