// SPDX-License-Identifier: MIT
// What more load does, for people.
#pragma once

#include <string>

#include "stats/causal/loads.h"
#include "stats/causal/profile.h"

namespace stab::report {

// "1.25x" where that was asked for, else by how much arrivals are faster: "250us".
std::string load_name(const stats::causal::Load& load);

// "250.1 [249.0, 251.2]", in units of so much; without an interval the number alone.
std::string measured_words(const stats::causal::Measured& measured, double unit = 1);

// The loads and what was had of them; throughput and latency against load; lines whose slopes differ.
std::string loads_text(const stats::causal::Profile& profile, const stats::causal::Loads& loads);

}  // namespace stab::report
