// SPDX-License-Identifier: MIT
// A causal profile for people.
#pragma once

#include <string>

#include "stats/causal/analyse.h"
#include "stats/causal/profile.h"

namespace stab::report {

// "helps", "contention", "unclear", "too few".
const char* finding_word(stats::causal::Finding finding);

// What to make faster, by the progress point that was visited most; it has one.
std::string causal_answer(const stats::causal::Profile& profile,
                          const stats::causal::Analysis& analysis);

// For each progress point the answer in a sentence, then a line of source a line.
std::string causal_text(const stats::causal::Profile& profile,
                        const stats::causal::Analysis& analysis, double alpha);

// "6.1 % [5.0, 7.2]"
std::string causal_gain(const stats::causal::Gain& gain);
// A line's name, or the end of a long one.
std::string short_line(const std::string& name);

}  // namespace stab::report
