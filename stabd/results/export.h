// SPDX-License-Identifier: MIT
// All attempts at an experiment's trials as a table: one row each, one column a factor and a
// reading.
#pragma once

#include <string>

#include "base/error.h"
#include "store/store.h"

namespace stab::results {

// RFC 4180 with a header. A reading that is absent is an empty cell, never a 0.
Result<std::string> export_csv(store::Reader& store, const store::Experiment& experiment);

// An array of objects with the same names; what is absent is null.
Result<std::string> export_json(store::Reader& store, const store::Experiment& experiment);

}  // namespace stab::results
