// SPDX-License-Identifier: MIT
// Interactions of treatments with two levels each, as numbers with intervals.
#pragma once

#include <string>
#include <vector>

#include "stats/analysis.h"
#include "stats/estimate.h"
#include "stats/factorial.h"
#include "stats/prepare.h"

namespace stab::stats {

// `estimate`: the difference of differences on the model's scale.
Interaction make_interaction(const Prepared& data, const std::string& subject, std::string term,
                             const Estimate& estimate);

// All that the model has; nothing if it leaves some to the residuals. `cells` are those of
// by_cell(), `deviations` the numbers whose variance is compared, by cell.
void add_interactions(const Prepared& data, const std::string& subject, const FactorialModel& model,
                      const std::vector<Group>& cells,
                      const std::vector<std::vector<double>>& deviations, Analysis& analysis);

}  // namespace stab::stats
