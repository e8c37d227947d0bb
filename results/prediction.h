// SPDX-License-Identifier: MIT
// Predicts the comparisons in a plan's report before anything runs: their levels, how many of them
// are corrected for each other (stats/verdicts/decide.h), their errors' degrees of freedom
// (stats/models/own_error.h), and the smallest changes that they will find.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "report/model.h"
#include "stats/verdicts/analysis.h"

namespace stab::results::prediction {

struct Comparison {
  std::size_t treatment = 0;  // index into plan::treatments()
  std::size_t base = 0;
  std::size_t level = 0;
  std::size_t cells = 0;  // averaged on each side
};

// The comparisons of one benchmark. A custom design has only those for which it lists cells. Empty
// for a causal profile, and for a calibration, whose comparisons are not corrected for each other.
std::vector<Comparison> comparisons_of(const plan::Plan& plan);

// The source of the error of a family's comparisons.
struct OwnError {
  std::string benchmark{};  // "": all benchmarks together
  std::size_t units = 0;    // blocks, benchmarks, or seeds in a cell
  std::size_t df = 0;
};

// The comparisons that are corrected together.
struct Family {
  stats::Scope scope = stats::Scope::subject;
  std::size_t comparisons = 0;
  std::string more{};              // adding these raises the degrees of freedom: "repetitions"
  std::vector<OwnError> errors{};  // one per benchmark, or one for all benchmarks

  [[nodiscard]] std::size_t fewest_df() const;
};

// The family that decides comes first. Empty if the plan makes no comparisons.
std::vector<Family> families(const plan::Plan& plan);

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

// The variation of trials and changes, as far as it is known before an experiment runs: relative
// standard deviations.
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

// Predicts the smallest change of each treatment that the plan's analysis will find with 80 %
// power, after the correction for all comparisons of the family. Each entry describes the
// treatment's comparison whose change is hardest to detect. If the variation is unknown, the entry
// is left out.
std::vector<Detectable> detectable(const plan::Plan& plan, const Variation& variation);

// With fewer machines, an answer about machines like these has hardly any degrees of freedom.
inline constexpr std::size_t fewest_like_these = 5;

// How an answer about machines like these depends on their number.
struct OnMachines {
  struct Smallest {
    std::size_t machines = 0;
    double change = 0;  // as in Detectable
  };
  std::string treatment{};
  double sd = 0;  // of the change between machines
  std::vector<Smallest> smallest{};
  std::optional<std::size_t> needed{};  // to find the plan's margin; absent: the plan has none
};

// One entry for each treatment of a plan that tells machines apart, with the power and the correction
// of detectable(). Empty if an earlier experiment has not shown how much changes differ between
// machines.
std::vector<OnMachines> on_machines(const plan::Plan& plan, const Variation& variation);

// The number of blocks after which half of all experiments of this plan meet its precision rule.
// Empty for plans with another rule, and if the variation is unknown.
std::optional<std::size_t> blocks_for_precision(const plan::Plan& plan, const Variation& variation);

}  // namespace stab::results::prediction
