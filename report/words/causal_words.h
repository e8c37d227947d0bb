// SPDX-License-Identifier: MIT
// Words about causal profiles.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "stats/causal/analyse.h"
#include "stats/causal/arrival_loads.h"
#include "stats/causal/profile.h"

namespace stab::report {

// "helps", "contention", "unclear", "too few".
const char* finding_word(stats::causal::Finding finding);

// Names the first line that helps, or explains why no line is known to help.
std::string causal_answer(const stats::causal::Profile& profile,
                          const stats::causal::PointResult& point);
// The same for the progress point with the most visits. The analysis has at least one point.
std::string causal_answer(const stats::causal::Profile& profile,
                          const stats::causal::Analysis& analysis);

// The names of the settings in remarks: "--scope" for the command line, "'causal.scope'" for plans.
struct SamplingKeys {
  std::string scope{};
  std::string experiment{};
};
// A sentence for each problem with the sampling of the runs that makes the profile worse than
// necessary.
std::vector<std::string> sampling_remarks(const stats::causal::Profile& profile,
                                          std::chrono::nanoseconds asked, const SamplingKeys& keys);

// "6.1", without a minus sign if it is rounded to 0
std::string causal_percent(double share);
// "6.1 % [5.0, 7.2]"
std::string causal_gain(const stats::causal::Gain& gain);
// A line's name, cut at the front if it is long.
std::string short_line(const std::string& name);

// Words about a causal profile at several loads.

// "1.25x" if the plan asked for a load, else the time by which arrivals are faster: "250us".
std::string load_name(const stats::causal::Load& load);

// "250.1 [249.0, 251.2]" in multiples of `unit`; only the number if there is no interval.
std::string measured_words(const stats::causal::Measured& measured, double unit = 1);

}  // namespace stab::report
