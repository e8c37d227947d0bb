// SPDX-License-Identifier: MIT
// What `stabctl check` says of calibrations, padding studies and fractional designs, beyond their
// cells and models.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace stab::client {

// A line each; none of other designs.
std::vector<std::string> study_words(const plan::Plan& plan);

}  // namespace stab::client
