// SPDX-License-Identifier: MIT
// The parts of a report's JSON that are about an analysis.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/model.h"
#include "report/sections/section.h"

namespace stab::report {

// The fields of a row that have keys, or all rows of a section, as JSON (section.h).
nlohmann::ordered_json row_json(const Row& row);
nlohmann::ordered_json rows_json(const Section& section);

nlohmann::ordered_json effects_json(const stats::Analysis& analysis);

// The verdict of the deciding effects, or "mixed" if their verdicts differ. null if there are no
// deciding effects.
nlohmann::ordered_json verdict_json(const stats::Analysis& analysis);

// The results of a response after the first.
nlohmann::ordered_json response_json(const stats::Analysis& analysis);

// Adds everything about the analysis except its answer and its verdict.
void add_analysis_json(nlohmann::ordered_json& root, const stats::Analysis& analysis);

}  // namespace stab::report
