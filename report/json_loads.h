// SPDX-License-Identifier: MIT
// The results of a causal profile at several loads, as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "stats/causal/arrival_loads.h"
#include "stats/causal/profile.h"

namespace stab::report {

// The load that the plan asked for; null if the plan made arrivals faster by a time instead.
nlohmann::ordered_json asked_json(const stats::causal::Load& load);

// `loads` and, if there are several loads, `changes`, as doc/causal.md describes them.
nlohmann::ordered_json loads_json(const stats::causal::Profile& profile,
                                  const stats::causal::Loads& loads);

}  // namespace stab::report
