// SPDX-License-Identifier: MIT
// The report as one JSON object. Numbers have full precision, and absent values are null.
#pragma once

#include <string>

#include "report/model.h"

namespace stab::report {

// The result is indented and ends with a newline. Bytes that are not valid UTF-8 are replaced.
std::string json(const Document& document);

// For an analysis that does not belong to an experiment. `source` says where its data is from.
std::string analysis_json(const std::string& source, const stats::Analysis& analysis);

}  // namespace stab::report
