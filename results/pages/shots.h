// SPDX-License-Identifier: MIT
// Stored trials -> the single numbers that a page shows.
#pragma once

#include "plan/plan.h"
#include "report/html/background.h"
#include "store/reader.h"

namespace stab::results {

// In one pass, in bounded memory whatever is stored. The same experiment always has the same.
store::Outcome<report::html::Shots> read_shots(store::Reader& store,
                                               const store::Experiment& experiment,
                                               const plan::Plan& plan);

}  // namespace stab::results
