// SPDX-License-Identifier: MIT
// Words about a causal profile at several loads.
#pragma once

#include <string>

#include "stats/causal/arrival_loads.h"
#include "stats/causal/profile.h"

namespace stab::report {

// "1.25x" if the plan asked for a load, else the time by which arrivals are faster: "250us".
std::string load_name(const stats::causal::Load& load);

// "250.1 [249.0, 251.2]" in multiples of `unit`; only the number if there is no interval.
std::string measured_words(const stats::causal::Measured& measured, double unit = 1);

}  // namespace stab::report
