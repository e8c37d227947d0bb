// SPDX-License-Identifier: MIT
// Tests the assumptions of models on the data that the models were fitted to.
//
// If each comparison has its own error from blocks, it assumes that the blocks' differences are
// normal and that blocks do not depend on each other. Both are tested on orthonormal contrasts of
// the cells within blocks (Helmert), in the order of blocks. Each contrast is divided by its own
// spread, because contrasts need not vary equally. Residuals are unsuitable: the residuals of one
// block sum to 0, so neighbours repel each other. Trials without blocks have residuals, in the
// order of trials. Independence is tested only if that order is the order of time.
#pragma once

#include <span>

#include "stats/data/notes.h"
#include "stats/data/prepare_data.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// For trials without blocks, or with the pooled error. `fitted` has the model's expectation for
// each group of the subject. Normality is tested by Shapiro-Wilk, above 5000 numbers by
// Anderson-Darling; equal variances of the cells, which the F of the table pools, by
// Brown-Forsythe; independence by the lag-1 autocorrelation and by runs.
void test_assumptions(const Prepared& data, const Subject& subject, std::span<const double> fitted,
                      Analysis& analysis, Notes& notes);

// Tests the blocks of a subject that have all its cells in the same way, without a test of the
// variances, which are not pooled.
void test_blocks(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes);

// Tests two more assumptions of the pooled error: treatments act alike in all blocks, so that all
// contrasts within blocks vary equally (Brown-Forsythe), and blocks do not depend on each other.
void test_pooling(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes);

// For the model of all subjects: tests that the subjects' effects, one number each, are normal.
void test_subject_effects(const Prepared& data, std::span<const double> effects,
                          const std::string& term, Analysis& analysis);

// Adds a test that other numbers are normal. If they are not, the assumption gets `instead` and
// `is_allowed_for`.
void add_normality(std::span<const double> values, std::string subject, std::string of,
                   std::string instead, Analysis& analysis, Notes& notes,
                   bool is_allowed_for = false);

}  // namespace stab::stats
