// SPDX-License-Identifier: MIT
// What is simulated: one line of the table each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/verdicts/commits.h"
#include "bench/verdicts/world.h"
#include "plan/plan.h"

namespace stab::bench {

// What a line is held to; all lines: a wrong verdict where nothing differs in 5 % or less, or as the
// line says.
enum class Claim {
  exact,        // own intervals cover in 94 to 97 %
  at_least,     // in 94 % or more
  verdicts,     // no claim on intervals: shown
  known_short,  // errors that no interval of few blocks covers: shown, nothing is claimed
};

struct Line {
  std::string name;
  World world;
  Claim claim = Claim::exact;
  stats::Programs programs = stats::Programs::these;
  bool each_program = false;  // the family of all single programs, not their suite
  stats::Error error = stats::Error::own;
  std::optional<plan::Stop> stop{};
  bool worst = false;  // simulated five times as often
  double most_wrong = 0.05;
  bool all_families = false;  // any wrong verdict on programs, on these and on programs like these
  stats::Estimand estimand = stats::Estimand::mean;
  stats::Losses losses = stats::Losses::extremes;
  // A history in which nothing changes: any alarm at all is a wrong verdict. The world is not used.
  std::optional<Missing> history{};
};

std::vector<Line> all_lines();

}  // namespace stab::bench
