// SPDX-License-Identifier: MIT
// The variation of trials and changes, as far as it is known before an experiment runs.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>

#include "plan/plan.h"
#include "report/model.h"
#include "stats/verdicts/analysis.h"

namespace stab::client {

// Identifies comparisons.
struct Compared {
  stats::Scope scope = stats::Scope::subject;
  std::string benchmark{};  // "" unless the scope is one benchmark
  std::string treatment{};

  auto operator<=>(const Compared&) const = default;
};

// The variances (not standard deviations) of a nested design.
struct SeedVariation {
  double between = 0;  // between seeds
  double within = 0;   // between the runs of one seed
};

// Relative standard deviations.
struct Variation {
  std::map<std::string, double> trials{};  // a benchmark's trials within a cell and block
  std::optional<double> all_trials{};      // the same for benchmarks that are not in `trials`
  std::optional<double> benchmarks{};      // a change between benchmarks
  // A change between units (blocks, a padding study's seeds, or benchmarks), for the treatment's
  // comparison that varies most. It replaces the values above, unless the plan's error is pooled.
  std::map<Compared, double> own{};
  std::map<std::string, SeedVariation> seeds{};
};

// Reads the variation from an earlier report. Nothing is known unless the report has the same
// response on the same scale. If that experiment had other cells, `own` is an approximation.
Variation variation_of(const report::Document& earlier, const plan::Plan& plan);

}  // namespace stab::client
