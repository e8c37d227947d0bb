// SPDX-License-Identifier: MIT
#include "client/check/variation.h"

#include <algorithm>
#include <cmath>

#include "stats/numbers/distribution.h"
#include "stats/planning/repeated.h"

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

}  // namespace stab::client
