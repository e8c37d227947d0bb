// SPDX-License-Identifier: MIT
// A causal profile for people.
#pragma once

#include <chrono>
#include <string>
#include <vector>

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

// What the user can change: "--scope" here, "'causal.scope'" there.
struct SamplingKeys {
  std::string scope{};
  std::string experiment{};
};
// What makes a profile worse than it could be, by how its runs were sampled: a sentence each.
std::vector<std::string> sampling_remarks(const stats::causal::Profile& profile,
                                          std::chrono::nanoseconds asked, const SamplingKeys& keys);

// "6.1 % [5.0, 7.2]"
std::string causal_gain(const stats::causal::Gain& gain);
// A line's name, or the end of a long one.
std::string short_line(const std::string& name);

}  // namespace stab::report
