// SPDX-License-Identifier: MIT
// The lines of `stabctl check` about calibrations, padding studies, causal profiles and fractional
// designs, in addition to their cells and models.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace stab::client {

// Empty for other designs.
std::vector<std::string> study_words(const plan::Plan& plan);

}  // namespace stab::client
