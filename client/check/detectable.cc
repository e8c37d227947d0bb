// SPDX-License-Identifier: MIT
#include "client/check/detectable.h"

#include <algorithm>
#include <cmath>

#include "client/check/comparisons.h"
#include "design/expand.h"
#include "stats/planning/power.h"
#include "stats/planning/repeated.h"
#include "stats/verdicts/stopping.h"

namespace stab::client {
namespace {

using stats::Scope;

// The level of one test or interval after all blocks, if all looks together have level `alpha`.
double level_of(const plan::Plan& plan, double alpha) {
  const auto& stop = plan.design.stop;
  if (!stop) return alpha;
  if (stop->rule == plan::StopRule::precision) return stats::precision_alpha(alpha);
  std::vector<std::size_t> planned(stop->looks.begin(), stop->looks.end());
  planned.push_back(stop->max);
  const auto last = stats::Repeated::at({.planned = std::move(planned), .blocks = stop->max});
  return last ? last->level(alpha) : alpha;
}

std::optional<double> sd_of(const Variation& variation, const std::string& benchmark) {
  const auto own = variation.trials.find(benchmark);
  return own != variation.trials.end() ? std::optional(own->second) : variation.all_trials;
}

double runs_of(const plan::Plan& plan) {
  for (const plan::Factor& factor : plan.factors)
    if (const auto* seeds = std::get_if<plan::RandomSeeds>(&factor.levels)) return seeds->runs;
  return 1;
}

// A known standard deviation, and the resulting standard deviation of a change between units.
struct Known {
  double sd = 0;
  double of_change = 0;
};

std::optional<Known> known_of_trials(const plan::Plan& plan, const Variation& variation,
                                     const Compared& compared, double cells) {
  const auto scaled = [](std::optional<double> sd, double factor) {
    return sd ? std::optional(Known{*sd, *sd * factor}) : std::nullopt;
  };
  if (compared.scope == Scope::like_these) return scaled(variation.benchmarks, 1);
  if (compared.scope == Scope::these)
    return scaled(variation.all_trials,
                  std::sqrt(2 / cells / static_cast<double>(plan.benchmarks.size())));
  if (const auto seeds = variation.seeds.find(compared.benchmark); seeds != variation.seeds.end())
    return scaled(std::sqrt(seeds->second.between + seeds->second.within / runs_of(plan)),
                  std::sqrt(2.0));
  return scaled(sd_of(variation, compared.benchmark), std::sqrt(2 / cells / runs_of(plan)));
}

std::optional<Known> known_of(const plan::Plan& plan, const Variation& variation,
                              const Compared& compared, std::size_t cells) {
  const auto own = variation.own.find(compared);
  const auto trials = known_of_trials(plan, variation, compared, static_cast<double>(cells));
  if (own == variation.own.end() || (plan.analysis.pooled && trials)) return trials;
  return Known{.sd = own->second, .of_change = own->second};
}

// The fewest cells on a side in a treatment's comparisons; 0 if there are none.
std::size_t fewest_cells(const std::vector<Comparison>& comparisons, std::size_t treatment) {
  std::size_t fewest = 0;
  for (const Comparison& each : comparisons)
    if (each.treatment == treatment && (fewest == 0 || each.cells < fewest)) fewest = each.cells;
  return fewest;
}

struct Asked {
  Compared compared;
  std::size_t cells = 0;
  OwnError error;
};

// One entry for each treatment of each of the family's errors.
std::vector<Asked> asked_of(const plan::Plan& plan, const Family& family) {
  std::vector<Asked> all;
  const auto comparisons = comparisons_of(plan);
  const auto treatments = plan::treatments(plan);
  for (const OwnError& error : family.errors)
    for (std::size_t i = 0; i < treatments.size(); ++i)
      if (const std::size_t cells = fewest_cells(comparisons, i); cells > 0)
        all.push_back(
            {{family.scope, error.benchmark, plan.factors[treatments[i]].name}, cells, error});
  return all;
}

}  // namespace

std::vector<Detectable> detectable(const plan::Plan& plan, const Variation& variation) {
  std::vector<Detectable> result;
  for (const Family& family : families(plan)) {
    const double alpha =
        level_of(plan, plan.analysis.alpha / static_cast<double>(family.comparisons));
    for (const auto& [compared, cells, error] : asked_of(plan, family)) {
      const auto known = known_of(plan, variation, compared, cells);
      if (!known || error.df == 0) continue;
      const auto found =
          stats::t_detectable(known->of_change / std::sqrt(static_cast<double>(error.units)),
                              static_cast<double>(error.df), alpha, planned_power);
      if (!found) continue;
      result.push_back({.scope = family.scope,
                        .benchmark = compared.benchmark,
                        .treatment = compared.treatment,
                        .sd = known->sd,
                        .change = plan.analysis.log_scale ? std::expm1(*found) : *found,
                        .error_df = error.df,
                        .comparisons = family.comparisons});
    }
  }
  return result;
}

std::optional<std::size_t> blocks_for_precision(const plan::Plan& plan,
                                                const Variation& variation) {
  const auto& stop = plan.design.stop;
  if (!stop || stop->rule != plan::StopRule::precision) return std::nullopt;
  std::optional<std::size_t> most;
  for (const Family& family : families(plan))
    for (const auto& [compared, cells, error] : asked_of(plan, family)) {
      const auto known = known_of(plan, variation, compared, cells);
      if (!known) continue;
      const auto needed =
          stats::needed_for_half_width(stats::Samples::paired, stop->half_width, known->of_change,
                                       level_of(plan, plan.analysis.alpha), 0.5);
      if (needed) most = std::max<std::size_t>({most.value_or(0), *needed, stop->min()});
    }
  return most;
}

}  // namespace stab::client
