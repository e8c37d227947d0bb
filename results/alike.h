// SPDX-License-Identifier: MIT
// Finds levels that build the same binary and run it in the same way: for that benchmark, they
// differ only by noise. Pure.
#pragma once

#include <span>
#include <vector>

#include "design/expand.h"
#include "plan/plan.h"
#include "stats/data/spec.h"
#include "store/records.h"

namespace stab::results {

// `builds`: the experiment's builds in the store.
std::vector<stats::Alike> alike_levels(const plan::Plan& plan, const plan::Expansion& expansion,
                                       std::span<const store::Build> builds);

}  // namespace stab::results
