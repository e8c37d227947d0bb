// SPDX-License-Identifier: MIT
// Lists which conditions of its trials a plan leaves to chance, and which it fixes.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "report/html/background.h"
#include "report/model.h"

namespace stab::results {

// Lists everything that may differ between trials. Conditions that no factor randomizes are listed
// as not random.
std::vector<report::html::Chance> chances_of(const plan::Plan& plan,
                                             const report::Document& document);

}  // namespace stab::results
