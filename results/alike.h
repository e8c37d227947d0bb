// SPDX-License-Identifier: MIT
// Levels that build the same binary: in that benchmark they differ in nothing but noise. Pure.
#pragma once

#include <span>
#include <vector>

#include "design/expand.h"
#include "plan/plan.h"
#include "stats/data/spec.h"
#include "store/records.h"

namespace stab::results {

// From the builds that the store has of the experiment.
std::vector<stats::Alike> alike_levels(const plan::Plan& plan, const plan::Expansion& expansion,
                                       std::span<const store::Build> builds);

}  // namespace stab::results
