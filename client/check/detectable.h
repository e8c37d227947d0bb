// SPDX-License-Identifier: MIT
// What a plan can see before it runs: the smallest change of each treatment that its analysis finds
// with 80 % power, after the correction for all comparisons of the family, given how much they
// vary.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/check/variation.h"
#include "plan/plan.h"
#include "stats/verdicts/analysis.h"

namespace stab::client {

inline constexpr double planned_power = 0.8;

struct Detectable {
  stats::Scope scope = stats::Scope::subject;
  std::string benchmark{};  // "" : all of them
  std::string treatment{};
  double sd = 0;      // that it is computed from
  double change = 0;  // 0.012: 1.2 %
  std::size_t error_df = 0;
  std::size_t comparisons = 0;  // that are corrected together
};

// Of the treatment's comparison that is hardest to tell. What is not known is left out.
std::vector<Detectable> detectable(const plan::Plan& plan, const Variation& variation);

// How many blocks a plan that stops by precision will probably take: in half of all experiments its
// rule is met by then. Nothing for other plans, or where nothing is known.
std::optional<std::size_t> blocks_for_precision(const plan::Plan& plan, const Variation& variation);

}  // namespace stab::client
