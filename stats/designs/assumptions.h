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

// For trials without blocks, or with the pooled error. `fitted` is what the model expects of each
// group of the subject. Normality is tested by Shapiro-Wilk, above 5000 numbers by
// Anderson-Darling; equal variances of the cells, which the F of the table pools, by
// Brown-Forsythe; independence by the lag-1 autocorrelation and by runs.
void test_assumptions(const Prepared& data, const Subject& subject, std::span<const double> fitted,
                      Analysis& analysis, Notes& notes);

// The same for the blocks of a subject that have all its cells, without a test of the variances,
// which nothing pools.
void test_blocks(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes);

// What the pooled error assumes besides: that treatments act alike in all blocks, so that all
// contrasts within blocks vary equally (Brown-Forsythe), and that blocks do not depend on each
// other.
void test_pooling(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes);

// For the model of all subjects: that the effects of the subjects, one number each, are normal.
void test_subject_effects(const Prepared& data, std::span<const double> effects,
                          const std::string& term, Analysis& analysis);

// For tests of other numbers.
void add_normality(std::span<const double> values, std::string subject, std::string of,
                   std::string instead, Analysis& analysis, Notes& notes);

}  // namespace stab::stats
