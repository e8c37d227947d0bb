// SPDX-License-Identifier: MIT
// What a plan leaves to chance, and what it does not.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "report/html/background.h"
#include "report/model.h"

namespace stab::results {

// Of what may differ between trials beside the treatments. What no factor randomizes is listed as
// not random.
std::vector<report::html::Chance> chances_of(const plan::Plan& plan,
                                             const report::Document& document);

}  // namespace stab::results
