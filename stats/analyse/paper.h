// SPDX-License-Identifier: MIT
// The procedure of Curtsinger and Berger (STABILIZER: Statistically sound performance evaluation,
// ASPLOS 2013, section 6), on raw times as in the paper:
// - Shapiro-Wilk for each program at each level;
// - for each program Student's t-test if the numbers of both levels pass Shapiro-Wilk, else
//   Wilcoxon's test (of signed ranks if there are blocks, which pair the runs; else of rank sums);
// - Brown-Forsythe between the levels of the treatment `rerandomize`;
// - analysis of variance within subjects over all programs (the design, not done here).
#pragma once

#include "stats/data/notes.h"
#include "stats/data/prepare_data.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Returns the spec that the procedure needs.
Spec paper_spec(Spec spec);

// Replaces the tests of each subject's effects, and the tests of assumptions, by those of the
// paper.
void apply_paper(const Prepared& data, Analysis& analysis, Notes& notes);

}  // namespace stab::stats
