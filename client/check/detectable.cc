// SPDX-License-Identifier: MIT
#include "client/check/detectable.h"

#include <algorithm>
#include <cmath>

#include "client/check/comparisons.h"
#include "design/expand.h"
#include "design/model.h"
#include "stats/numbers/distribution.h"
#include "stats/planning/power.h"
#include "stats/planning/repeated.h"
#include "stats/verdicts/stopping.h"

namespace stab::client {
namespace {

// The level of the earlier intervals. A sequential experiment has wider intervals; their level is
// computed from the looks of this plan.
std::optional<double> level_of(const report::Document& earlier, const plan::Plan& plan) {
  const double alpha = earlier.analysis.spec.alpha;
  if (!earlier.stopping || earlier.stopping->rule != "sequential") return alpha;
  const auto& stop = plan.design.stop;
  if (!stop || stop->rule != plan::StopRule::sequential) return std::nullopt;
  std::vector<std::size_t> planned(stop->looks.begin(), stop->looks.end());
  planned.push_back(stop->max);
  const auto look =
      stats::Repeated::at({.planned = std::move(planned), .blocks = earlier.stopping->blocks});
  return look ? std::optional(look->level(alpha)) : std::nullopt;
}

// Computes the standard deviation of a change between units from the width of its interval.
std::optional<double> sd_of_change(const stats::Effect& effect, double alpha, bool log) {
  const std::optional<double>& low = effect.low;
  const std::optional<double>& high = effect.high;
  const std::optional<double>& df = effect.df;
  const auto units = static_cast<double>(effect.units);
  // If each unit belongs to one arm only, the number of units is not the number of changes.
  if (!low || !high || !df || units != *df + 1 || !(alpha > 0)) return std::nullopt;
  const auto t = stats::t_upper_quantile(alpha / 2, *df);
  if (!t || !(*low > 0)) return std::nullopt;
  const double width = log ? std::log(*high / *low) : *high - *low;
  return width / 2 / *t * std::sqrt(units);
}

void add_changes(const report::Document& earlier, const plan::Plan& plan, Variation& result) {
  const auto alpha = level_of(earlier, plan);
  if (!alpha) return;
  for (const stats::Effect& effect : earlier.analysis.effects) {
    const auto sd = sd_of_change(effect, *alpha, plan.analysis.log_scale);
    if (!sd || !(*sd > 0)) continue;
    double& most = result.own[{
        .scope = effect.scope, .benchmark = effect.subject, .treatment = effect.treatment}];
    most = std::max(most, *sd);
  }
}

// Only a model with a single stratum, whose error is pooled, shows how much trials vary.
void add_trials(const stats::Analysis& earlier, Variation& result) {
  for (const stats::AnovaTable& table : earlier.tables)
    for (const stats::AnovaRow& row : table.rows)
      if (row.ms && row.term == "Residuals" && row.stratum.empty())
        result.trials[table.subject] = std::sqrt(*row.ms);
}

void add_seeds(const stats::Analysis& earlier, Variation& result) {
  for (const stats::VarianceComponents& each : earlier.components)
    if (each.between && each.within)
      result.seeds[each.subject] = {.between = std::max(0.0, *each.between),
                                    .within = *each.within};
}

}  // namespace

Variation variation_of(const report::Document& earlier, const plan::Plan& plan) {
  Variation result;
  const stats::Spec& spec = earlier.analysis.spec;
  if (spec.response != plan.analysis.response || spec.log_scale != plan.analysis.log_scale)
    return result;
  // A padding study's changes are relative even on the raw scale. Other changes on the raw scale
  // have no relative standard deviation.
  const bool percent = plan.design.kind == plan::DesignKind::padding_study;
  if (plan.analysis.log_scale || percent) add_changes(earlier, plan, result);
  if (!plan.analysis.log_scale) return result;
  add_trials(earlier.analysis, result);
  if (plan.design.kind == plan::DesignKind::nested) add_seeds(earlier.analysis, result);
  return result;
}

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
  // How much changes differ between machines is not known from earlier experiments.
  if (plan::tells_machines_apart(plan, plan.analysis.response) &&
      compared.scope == Scope::like_these)
    return std::nullopt;
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
