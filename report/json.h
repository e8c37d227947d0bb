// SPDX-License-Identifier: MIT
// The report as one JSON object. Numbers have full precision, and absent values are null.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "report/model.h"
#include "report/sections/section.h"
#include "stats/causal/analyse.h"
#include "stats/causal/arrival_loads.h"
#include "stats/causal/profile.h"

namespace stab::report {

// The result is indented and ends with a newline. Bytes that are not valid UTF-8 are replaced.
std::string json(const Document& document);

// The same object as a value, for JSON that has the report as a part. Its texts may have bytes that
// are not valid UTF-8, so whoever writes it must replace them.
nlohmann::ordered_json json_value(const Document& document);

// For an analysis that does not belong to an experiment. `source` says where its data is from.
std::string analysis_json(const std::string& source, const stats::Analysis& analysis);

// Everything about the layer except its benchmark.
nlohmann::ordered_json heap_json(const HeapLayer& layer);

// The parts of a report's JSON that are about an analysis.

// A value, the fields of a row that have keys, or all rows of a section, as JSON (section.h).
nlohmann::ordered_json value_json(const Value& value);
nlohmann::ordered_json row_json(const Row& row);
nlohmann::ordered_json rows_json(const Section& section);

nlohmann::ordered_json effects_json(const stats::Analysis& analysis);

// The verdict of the deciding effects, or "mixed" if their verdicts differ. null if there are no
// deciding effects.
nlohmann::ordered_json verdict_json(const stats::Analysis& analysis);
nlohmann::ordered_json verdict_json(const Document& document);

// The results of a response after the first.
nlohmann::ordered_json response_json(const stats::Analysis& analysis);

// Adds everything about the analysis except its answer and its verdict.
void add_analysis_json(nlohmann::ordered_json& root, const stats::Analysis& analysis);

// A causal profile: the object that doc/causal.md describes.
nlohmann::ordered_json causal_json(const stats::causal::Profile& profile,
                                   const stats::causal::Analysis& analysis, double alpha);

nlohmann::ordered_json causal_gain_json(const stats::causal::Gain& gain);

// The load that the plan asked for; null if the plan made arrivals faster by a time instead.
nlohmann::ordered_json asked_json(const stats::causal::Load& load);

// `loads` and, if there are several loads, `changes`, as doc/causal.md describes them.
nlohmann::ordered_json loads_json(const stats::causal::Profile& profile,
                                  const stats::causal::Loads& loads);

// Returns null for a value that is absent, NaN, infinite or "".
nlohmann::ordered_json or_null(std::optional<double> value);
nlohmann::ordered_json or_null(const std::string& value);

}  // namespace stab::report
