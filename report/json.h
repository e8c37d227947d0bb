// SPDX-License-Identifier: MIT
// The report as one JSON object, numbers in full precision, what is absent as null.
#pragma once

#include <string>

#include "report/model.h"

namespace stab::report {

// Indented, ends with a newline. Text that is not UTF-8 has its bad bytes replaced.
std::string json(const Document& document);

// An analysis that belongs to no experiment; `source` says where its data is from.
std::string analysis_json(const std::string& source, const stats::Analysis& analysis);

}  // namespace stab::report
