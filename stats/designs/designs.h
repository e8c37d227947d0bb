// SPDX-License-Identifier: MIT
// The designs: each adds its tables, effects and components to the analysis.
#pragma once

#include <optional>
#include <vector>

#include "stats/data/notes.h"
#include "stats/data/prepare.h"
#include "stats/designs/effects.h"
#include "stats/designs/interactions.h"
#include "stats/models/own_error.h"
#include "stats/tests/estimate.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// For one subject. With blocks the model is y ~ a * b + Error(block / (a * b)), and each comparison
// is tested by its own differences between blocks. Without blocks it is y ~ a * b, with Welch's
// test of trials. `with_table` adds the table to the effects.
void analyse_factorial(const Prepared& data, const Subject& subject, bool with_table,
                       Analysis& analysis, Notes& notes);

// Whether the comparisons of a subject take their error from its blocks.
bool has_own_blocks(const Prepared& data);

// The mean over blocks, which may depend on their neighbours in time unless the spec denies that.
Estimate mean_over_blocks(const Prepared& data, const UnitNumbers& numbers);

// The trials of blocks that have each of the subject's `cells` cells: the first block's, then the
// next one's.
std::vector<Moments> complete_blocks(const Subject& subject, std::size_t cells);

// How contrasts of a subject's cells are estimated where each has its own error: from blocks, or
// without blocks from trials. The arguments must outlive the result.
Estimator subject_estimator(const Prepared& data, const Subject& subject,
                            const std::vector<Group>& cells);

// For all subjects together: the mean over these very subjects, with their blocks as units, and
// over subjects like these, with subjects as units: y ~ a * b + Error(subject / (a * b)). False if
// there are not two complete subjects.
bool analyse_within(const Prepared& data, Analysis& analysis, Notes& notes);

// The estimate of a comparison over all subjects, of the spec's estimand; nothing if there is none.
std::optional<Estimate> suite_estimate(const Prepared& data, const Comparison& comparison);

// y ~ a * b + Error(a:b:seed) of one subject.
void analyse_nested(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes);

// Whether the data have seeds that its arms share.
bool is_padding_study(const Prepared& data);

// The mean change in percent between the arms that share a seed, of one subject; see
// padding_study.h.
void analyse_padding(const Prepared& data, const Subject& subject, Analysis& analysis,
                     Notes& notes);

// Its estimate: the mean over seeds that both arms have. Nothing if there are fewer than two seeds, if
// a number is not above 0, or if all changes are equal.
std::optional<Estimate> padding_estimate(const Prepared& data, const Subject& subject,
                                         const Comparison& comparison);

// The seeds of a subject as groups with one number each: their means. `groups` is ordered by cell,
// then seed.
std::vector<Group> seed_means(const Subject& subject);

}  // namespace stab::stats
