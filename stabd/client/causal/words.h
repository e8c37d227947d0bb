// SPDX-License-Identifier: MIT
// A causal profile for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "stats/causal/analyse.h"
#include "stats/causal/profile.h"

namespace stab::client::causal {

// For each progress point the answer in a sentence, then a line of source a line.
std::string as_text(const stats::causal::Profile& profile, const stats::causal::Analysis& analysis,
                    double alpha);

// One object, as doc/causal.md describes it, and its text.
nlohmann::ordered_json as_object(const stats::causal::Profile& profile,
                                 const stats::causal::Analysis& analysis, double alpha);
std::string as_json(const stats::causal::Profile& profile, const stats::causal::Analysis& analysis,
                    double alpha);

// "6.1 % [5.0, 7.2]"
std::string gain_words(const stats::causal::Gain& gain);
nlohmann::ordered_json gain_object(const stats::causal::Gain& gain);
// A line's name, or the end of a long one.
std::string shorten(const std::string& name);

}  // namespace stab::client::causal
