// SPDX-License-Identifier: MIT
// A causal profile for people and for programs.
#pragma once

#include <string>

#include "stats/causal/analyse.h"
#include "stats/causal/profile.h"

namespace stab::client::causal {

// For each progress point the answer in a sentence, then a line of source a line.
std::string as_text(const stats::causal::Profile& profile, const stats::causal::Analysis& analysis,
                    double alpha);

// One object, as doc/causal.md describes it.
std::string as_json(const stats::causal::Profile& profile, const stats::causal::Analysis& analysis,
                    double alpha);

}  // namespace stab::client::causal
