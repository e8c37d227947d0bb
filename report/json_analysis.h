// SPDX-License-Identifier: MIT
// The parts of a report's JSON that say what an analysis found.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "report/model.h"
#include "report/sections/section.h"

namespace stab::report {

// The fields of a row that have keys, and the rows of a section, as JSON (section.h).
nlohmann::ordered_json row_json(const Row& row);
nlohmann::ordered_json rows_json(const Section& section);

nlohmann::ordered_json effects_json(const stats::Analysis& analysis);

// The verdict that the deciding effects agree on, "mixed" if they do not; null where none decides.
nlohmann::ordered_json verdict_json(const stats::Analysis& analysis);

// Of a response beside the first: what was decided about it.
nlohmann::ordered_json response_json(const stats::Analysis& analysis);

// Everything of the analysis but its answer and its verdict.
void add_analysis_json(nlohmann::ordered_json& root, const stats::Analysis& analysis);

}  // namespace stab::report
