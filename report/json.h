// SPDX-License-Identifier: MIT
// The report as one JSON object. Numbers have full precision, and absent values are null.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/model.h"

namespace stab::report {

// The result is indented and ends with a newline. Bytes that are not valid UTF-8 are replaced.
std::string json(const Document& document);

// The same object as a value, for JSON that has the report as a part. Its texts may have bytes that
// are not valid UTF-8, so whoever writes it must replace them.
nlohmann::ordered_json json_value(const Document& document);

// For an analysis that does not belong to an experiment. `source` says where its data is from.
std::string analysis_json(const std::string& source, const stats::Analysis& analysis);

}  // namespace stab::report
