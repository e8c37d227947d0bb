// SPDX-License-Identifier: MIT
// What a report says, independent of the form that it takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/analysis.h"

namespace stab::report {

// Measured trials; warm-up ones are in no count.
struct TrialCounts {
  std::uint64_t planned = 0;
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;
  std::uint64_t skipped = 0;
};

// What the programs themselves placed at random, over the measured trials that are ok.
struct Layouts {
  std::uint64_t randomized = 0;
  std::uint64_t unrandomized = 0;       // they could, and were told not to or failed to
  std::uint64_t without_runtime = 0;    // szc did not build them
  std::string kinds{};                  // "code once"; several with commas
  std::optional<double> least_share{};  // of the text bytes that moved, by trial
  std::optional<double> median_share{};
  std::optional<double> median_epochs{};
  std::optional<double> median_fixed{};  // of the heap's bytes, those that were not shuffled
  std::uint64_t fixed_heaps = 0;         // trials with more than half of them
  std::uint64_t few_epochs = 0;  // trials with repeated layouts that had fewer than enough_epochs
};
inline constexpr std::int64_t enough_epochs = 30;

struct Document {
  std::string experiment{};
  std::int64_t id = 0;
  std::string question{};  // "": the plan asks none
  std::string state{};     // "done", "cancelled", ...
  std::string reason{};    // why it is in that state; "" if there is nothing to say
  std::string machine{};   // one line
  std::uint64_t seed = 0;
  TrialCounts trials{};
  Layouts layouts{};
  // One line each group of equal failures: "sort at O2: timeout after 60 s (3 trials)".
  std::vector<std::string> failures{};
  std::string database{};  // path; "": not worth saying
  std::chrono::nanoseconds duration{0};
  stats::Analysis analysis{};
};

}  // namespace stab::report
