// SPDX-License-Identifier: MIT
// A causal profile as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "stats/causal/analyse.h"
#include "stats/causal/profile.h"

namespace stab::report {

// Returns the object that doc/causal.md describes.
nlohmann::ordered_json causal_json(const stats::causal::Profile& profile,
                                   const stats::causal::Analysis& analysis, double alpha);

nlohmann::ordered_json causal_gain_json(const stats::causal::Gain& gain);

}  // namespace stab::report
