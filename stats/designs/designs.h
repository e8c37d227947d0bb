// SPDX-License-Identifier: MIT
// The designs: each adds its tables, effects and components to the analysis.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "stats/data/notes.h"
#include "stats/data/prepare_data.h"
#include "stats/designs/effects.h"
#include "stats/models/own_error.h"
#include "stats/tests/estimate.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// For one subject. With blocks the model is y ~ a * b + Error(block / (a * b)), and each comparison
// is tested by its own differences between blocks. Without blocks the model is y ~ a * b, with
// Welch's test of trials. If `with_table`, the table is added as well as the effects.
void analyse_factorial(const Prepared& data, const Subject& subject, bool with_table,
                       Analysis& analysis, Notes& notes);

// Returns whether the comparisons of a subject take their error from its blocks.
bool has_own_blocks(const Prepared& data);

// The mean over blocks. Neighbouring blocks may depend on each other unless the spec denies that.
Estimate mean_over_blocks(const Prepared& data, const UnitNumbers& numbers);

// Returns the trials of the blocks that have all of the subject's `cells` cells: first those of the
// first block, then those of the next one.
std::vector<Moments> complete_blocks(const Subject& subject, std::size_t cells);

// Estimates contrasts of a subject's cells if each has its own error: from blocks, or without
// blocks from trials. The arguments must outlive the result.
Estimator subject_estimator(const Prepared& data, const Subject& subject,
                            const std::vector<Group>& cells);

// For all subjects together: estimates the mean over these very subjects, with their blocks as
// units, and the mean over subjects like these, with subjects as units: y ~ a * b + Error(subject /
// (a * b)). Returns false if fewer than two subjects are complete.
bool analyse_within(const Prepared& data, Analysis& analysis, Notes& notes);

// Returns the subjects that analyse_within() uses, if they are at least two.
std::vector<const Subject*> suite_members(const Prepared& data);

// Returns the machines with trials in all cells, even if there is only one.
std::vector<const Subject*> complete_machines(const Prepared& data);

// Returns the weights of a subject's cells.
using ContrastOfCells = std::function<Contrast(const std::vector<Group>&)>;

// The estimate of a contrast over all subjects, for the spec's estimand, if there is one.
std::optional<Estimate> suite_estimate(const Prepared& data, Scope scope,
                                       const ContrastOfCells& contrast_of_cells);

// For one subject: y ~ a * b + Error(a:b:seed).
void analyse_nested(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes);

// Returns whether the data have seeds that the arms share.
bool is_padding_study(const Prepared& data);

// For one subject: the mean change in percent between the arms that share a seed; see
// estimate.h.
void analyse_padding(const Prepared& data, const Subject& subject, Analysis& analysis,
                     Notes& notes);

// The estimate of a padding study: the mean over seeds that both arms have. Returns nothing if
// there are fewer than two such seeds, if a number is not above 0, or if all changes are equal.
std::optional<Estimate> padding_estimate(const Prepared& data, const Subject& subject,
                                         const Comparison& comparison);

// Returns the seeds of a subject as groups with one number each: the seed's mean. `groups` is
// ordered by cell, then seed.
std::vector<Group> seed_means(const Subject& subject);

}  // namespace stab::stats
