// SPDX-License-Identifier: MIT
// A causal profile with loads for people and for programs.
#pragma once

#include <string>

#include "stats/causal/loads.h"
#include "stats/causal/profile.h"

namespace stab::client::causal {

// The loads and what was had of them; throughput and latency against load; lines whose slopes differ;
// then the report of each load.
std::string loads_as_text(const stats::causal::Profile& profile, const stats::causal::Loads& loads,
                          double alpha);

// One object, as doc/causal.md describes it.
std::string loads_as_json(const stats::causal::Profile& profile, const stats::causal::Loads& loads,
                          double alpha);

}  // namespace stab::client::causal
