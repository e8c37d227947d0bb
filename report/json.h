// SPDX-License-Identifier: MIT
// The report as one JSON object, numbers in full precision, what is absent as null.
#pragma once

#include <string>

#include "report/model.h"

namespace stab::report {

// Indented, ends with a newline. Text that is not UTF-8 has its bad bytes replaced.
std::string json(const Document& document);

}  // namespace stab::report
