// SPDX-License-Identifier: MIT
// How much trials and changes vary, as far as it is known before an experiment runs.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>

#include "plan/plan.h"
#include "report/model.h"
#include "stats/verdicts/analysis.h"

namespace stab::client {

// Which comparisons.
struct Compared {
  stats::Scope scope = stats::Scope::subject;
  std::string benchmark{};  // "" unless the scope is one benchmark
  std::string treatment{};

  auto operator<=>(const Compared&) const = default;
};

// Of a nested design: variances, not standard deviations.
struct SeedVariation {
  double between = 0;
  double within = 0;  // of the runs of a seed
};

// Relative standard deviations.
struct Variation {
  std::map<std::string, double> trials{};  // of a benchmark's trials within a cell and block
  std::optional<double> all_trials{};      // of benchmarks that are not in `trials`
  std::optional<double> benchmarks{};      // of a change, between benchmarks
  // Of a change between units: blocks, a padding study's seeds, benchmarks. It takes the place of
  // those above; the treatment's comparison that varies most.
  std::map<Compared, double> own{};
  std::map<std::string, SeedVariation> seeds{};
};

// From what an earlier experiment found, if it measured the same response on the same scale; else
// nothing is known. If its cells were others, `own` is an approximation.
Variation variation_of(const report::Document& earlier, const plan::Plan& plan);

}  // namespace stab::client
