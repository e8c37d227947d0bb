// SPDX-License-Identifier: MIT
// What more load does, for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "stats/causal/loads.h"
#include "stats/causal/profile.h"

namespace stab::report {

// The load that was asked for; null: arrivals were made faster by a time.
nlohmann::ordered_json asked_json(const stats::causal::Load& load);

// `loads` and, of several, `changes`, as doc/causal.md describes them.
nlohmann::ordered_json loads_json(const stats::causal::Profile& profile,
                                  const stats::causal::Loads& loads);

}  // namespace stab::report
