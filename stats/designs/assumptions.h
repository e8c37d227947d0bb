// SPDX-License-Identifier: MIT
// What the models assume, tested on the data that they were fitted to.
//
// Where each comparison has its own error from blocks, it assumes that the blocks' differences are
// normal and that blocks do not depend on each other. Both are tested on orthonormal contrasts of
// the cells within blocks (Helmert), in the order of blocks; each contrast is divided by its own
// spread, because nothing says that contrasts vary equally. Residuals would not do: those of one
// block sum to 0, so neighbours repel each other. Trials without blocks have residuals, in the
// order of trials. Independence is tested only where that order is the order of time.
#pragma once

#include <span>

#include "stats/data/notes.h"
#include "stats/data/prepare.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Trials without blocks, or with the pooled error; `fitted`: what the model expects of each of the
// subject's groups. Normality by Shapiro-Wilk, above 5000 numbers by Anderson-Darling; equal
// variances of the cells, which the F of the table pools, by Brown-Forsythe; independence by the
// lag-1 autocorrelation and by runs.
void test_assumptions(const Prepared& data, const Subject& subject, std::span<const double> fitted,
                      Analysis& analysis, Notes& notes);

// The same of a subject's blocks that have all its cells, but for the variances: nothing pools
// them.
void test_blocks(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes);

// What the pooled error assumes beyond that: treatments act alike in all blocks, so all contrasts
// within blocks vary equally (Brown-Forsythe); and that blocks do not depend on each other.
void test_pooling(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes);

// Of the model of all subjects: that the subjects' own effects (one number a subject) are normal.
void test_subject_effects(const Prepared& data, std::span<const double> effects,
                          const std::string& term, Analysis& analysis);

// For tests of other numbers.
void add_normality(std::span<const double> values, std::string subject, std::string of,
                   std::string instead, Analysis& analysis, Notes& notes);

}  // namespace stab::stats
