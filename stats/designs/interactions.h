// SPDX-License-Identifier: MIT
// Interactions of treatments with two levels each, as numbers with intervals.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "stats/data/prepare.h"
#include "stats/designs/contrasts.h"
#include "stats/models/own_error.h"
#include "stats/tests/estimate.h"
#include "stats/verdicts/analysis.h"

namespace stab::stats {

// Estimates a contrast of a subject's cells with the method of a design; nothing if that is
// impossible.
using Estimator = std::function<std::optional<Estimate>(const Contrast&)>;

// `estimate` is the difference of differences on the model's scale.
Interaction make_interaction(const Prepared& data, const std::string& subject, std::string term,
                             const Estimate& estimate);

// Adds all interactions that the cells of the subject allow. `cells` come from by_cell().
void add_interactions(const Prepared& data, const std::string& subject, const Estimator& estimator,
                      const std::vector<Group>& cells, const SpreadOf& spread, Analysis& analysis);

}  // namespace stab::stats
