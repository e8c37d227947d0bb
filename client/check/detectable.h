// SPDX-License-Identifier: MIT
// Predicts before a plan runs the smallest change of each treatment that its analysis will find
// with 80 % power. The prediction needs the variation, and includes the correction for all
// comparisons of the family.
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
  std::string benchmark{};  // "": all benchmarks together
  std::string treatment{};
  double sd = 0;      // the standard deviation from which `change` is computed
  double change = 0;  // 0.012: 1.2 %
  std::size_t error_df = 0;
  std::size_t comparisons = 0;  // corrected together
};

// Each entry describes the treatment's comparison whose change is hardest to detect. If the
// variation is unknown, the entry is left out.
std::vector<Detectable> detectable(const plan::Plan& plan, const Variation& variation);

// The number of blocks after which half of all experiments of this plan meet its precision rule.
// Empty for plans with another rule, and if the variation is unknown.
std::optional<std::size_t> blocks_for_precision(const plan::Plan& plan, const Variation& variation);

}  // namespace stab::client
