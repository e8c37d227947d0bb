// SPDX-License-Identifier: MIT
// Reads from the stored trials the single numbers that a page shows.
#pragma once

#include "plan/plan.h"
#include "report/html/background.h"
#include "store/reader.h"

namespace stab::results {

// Reads the trials in one pass, and in bounded memory whatever is stored. The same experiment
// always gives the same shots.
store::Outcome<report::html::Shots> read_shots(store::Reader& store,
                                               const store::Experiment& experiment,
                                               const plan::Plan& plan);

}  // namespace stab::results
