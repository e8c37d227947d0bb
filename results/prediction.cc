// SPDX-License-Identifier: MIT

#include "results/prediction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "design/model.h"
#include "design/trial_list.h"
#include "results/rows.h"
#include "stats/numbers/distribution.h"
#include "stats/planning/power.h"
#include "stats/planning/repeated.h"
#include "stats/verdicts/decide.h"

namespace stab::results::prediction {
namespace {

using plan::DesignKind;
using stats::Scope;

const plan::FixedLevels& levels_of(const plan::Plan& plan, std::size_t factor) {
  return std::get<plan::FixedLevels>(plan.factors[factor].levels);
}

std::size_t cells_of(const plan::Plan& plan) {
  if (plan::lists_cells(plan.design.kind)) return plan.design.cells.size();
  std::size_t cells = 1;
  for (const std::size_t factor : plan::treatments(plan))
    cells *= levels_of(plan, factor).levels.size();
  return cells;
}

// Counts the pairs of listed cells that differ only in this treatment.
std::size_t pairs(const plan::Plan& plan, std::size_t factor, const Comparison& comparison) {
  const auto& levels = levels_of(plan, factor).levels;
  const auto& cells = plan.design.cells;
  return static_cast<std::size_t>(std::ranges::count_if(cells, [&](plan::Cell cell) {
    std::string& own = cell.at(plan.factors[factor].name);
    if (own != levels[comparison.base].name) return false;
    own = levels[comparison.level].name;
    return std::ranges::find(cells, cell) != cells.end();
  }));
}

std::size_t cells_on_each_side(const plan::Plan& plan, std::size_t factor,
                               const Comparison& comparison) {
  if (plan.design.kind == DesignKind::custom) return pairs(plan, factor, comparison);
  return cells_of(plan) / levels_of(plan, factor).levels.size();
}

const plan::RandomSeeds* seeds_of(const plan::Plan& plan) {
  for (const plan::Factor& factor : plan.factors)
    if (const auto* seeds = std::get_if<plan::RandomSeeds>(&factor.levels)) return seeds;
  return nullptr;
}

// The control is compared with nothing but the first level, and gets no verdict.
bool is_control(const plan::Plan& plan, std::size_t factor, std::size_t level) {
  return !plan.analysis.control.empty() &&
         levels_of(plan, factor).levels.at(level).name == plan.analysis.control;
}

// The error of a comparison within one benchmark.
OwnError error_of(const plan::Plan& plan, const plan::Benchmark& benchmark) {
  OwnError error{.benchmark = benchmark.name, .units = plan::compared_blocks(plan, benchmark)};
  if (const auto* seeds = seeds_of(plan)) error.units = seeds->seeds;
  error.df = error.units - 1;
  if (plan.design.kind == DesignKind::nested) error.df *= 2;  // Welch's df for equal variances
  if (plan.analysis.pooled) error.df *= cells_of(plan) - 1;
  return error;
}

Family of_benchmarks(const plan::Plan& plan, std::size_t comparisons) {
  Family family{.scope = Scope::subject,
                .comparisons = comparisons * plan.benchmarks.size(),
                .more = seeds_of(plan) != nullptr ? "seeds" : "repetitions"};
  for (const plan::Benchmark& benchmark : plan.benchmarks)
    family.errors.push_back(error_of(plan, benchmark));
  return family;
}

Family of_all(Scope scope, std::size_t comparisons, std::size_t units) {
  return {.scope = scope,
          .comparisons = comparisons,
          .more = scope == Scope::these ? "repetitions" : "benchmarks",
          .errors = {{.benchmark = "", .units = units, .df = units - 1}}};
}

// The errors on several machines that are told apart: the blocks within each, or the machines.
std::vector<Family> of_machines(const plan::Plan& plan, std::size_t comparisons) {
  const std::size_t machines = plan.machine_count();
  const std::size_t blocks = plan::compared_blocks(plan, plan.benchmarks.front()) / machines;
  const auto family = [&](Scope scope, std::size_t count, std::size_t units, std::size_t df) {
    return Family{.scope = scope,
                  .comparisons = count,
                  .more = scope == Scope::like_these ? "nodes" : "repetitions",
                  .errors = {{.benchmark = "", .units = units, .df = df}}};
  };
  Family first = family(Scope::these, comparisons, machines * blocks, machines * (blocks - 1));
  Family second = family(Scope::like_these, comparisons, machines, machines - 1);
  if (plan.machines->like_these) std::swap(first, second);
  return {first, second, family(Scope::subject, comparisons * machines, blocks, blocks - 1)};
}

}  // namespace

std::vector<Comparison> comparisons_of(const plan::Plan& plan) {
  std::vector<Comparison> result;
  if (plan.design.kind == DesignKind::calibration || plan.is_causal()) return result;
  const auto treatments = plan::treatments(plan);
  for (std::size_t i = 0; i < treatments.size(); ++i) {
    const std::size_t levels = levels_of(plan, treatments[i]).levels.size();
    const std::size_t bases = plan.analysis.all_pairs ? levels - 1 : 1;
    for (std::size_t base = 0; base < bases; ++base)
      for (std::size_t level = base + 1; level < levels; ++level) {
        if (is_control(plan, treatments[i], level)) continue;
        Comparison comparison{.treatment = i, .base = base, .level = level};
        comparison.cells = cells_on_each_side(plan, treatments[i], comparison);
        if (comparison.cells > 0) result.push_back(comparison);
      }
  }
  return result;
}

std::size_t Family::fewest_df() const {
  return std::ranges::min(errors, {}, &OwnError::df).df;
}

std::vector<Family> families(const plan::Plan& plan) {
  const std::size_t comparisons = comparisons_of(plan).size();
  if (comparisons == 0) return {};
  if (plan::tells_machines_apart(plan, plan.analysis.response))
    return of_machines(plan, comparisons);
  const Family each = of_benchmarks(plan, comparisons);
  if (plan.design.kind != DesignKind::within_subjects) return {each};
  // The benchmarks run in the same blocks, so each block yields one number for all of them.
  const std::size_t blocks = std::ranges::min(each.errors, {}, &OwnError::units).units;
  Family first = of_all(Scope::these, comparisons, blocks);
  Family second = of_all(Scope::like_these, comparisons, plan.benchmarks.size());
  if (!plan.analysis.these_programs) std::swap(first, second);
  return {first, second, each};
}

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

// Whether each unit has its own change. A trial, or a seed of a nested design, belongs to one level
// only, and so may a unit that is not known here.
bool has_pairs(const stats::Effect& effect, const plan::Plan& plan) {
  if (effect.units < 2) return false;
  // A daemon of an older version does not send the unit.
  if (effect.unit.empty()) return effect.df && *effect.df == static_cast<double>(effect.units - 1);
  if (effect.unit == "seed") return plan.design.kind == DesignKind::padding_study;
  return effect.unit == results::block_column || effect.unit == results::subject_column ||
         effect.unit == plan::machine_column;
}

// Computes the standard deviation of a change between units from the width of its interval.
std::optional<double> sd_of_change(const stats::Effect& effect, double alpha, bool log) {
  const std::optional<double>& low = effect.low;
  const std::optional<double>& high = effect.high;
  const std::optional<double>& df = effect.df;
  const auto units = static_cast<double>(effect.units);
  if (!low || !high || !df || !(alpha > 0)) return std::nullopt;
  const auto t = stats::t_upper_quantile(alpha / 2, *df);
  if (!t || !(*low > 0)) return std::nullopt;
  const double width = log ? std::log(*high / *low) : *high - *low;
  return width / 2 / *t * std::sqrt(units);
}

void add_changes(const report::Document& earlier, const plan::Plan& plan, Variation& result) {
  const auto alpha = level_of(earlier, plan);
  if (!alpha) return;
  for (const stats::Effect& effect : earlier.analysis.effects) {
    if (!has_pairs(effect, plan)) continue;
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

std::vector<OnMachines> on_machines(const plan::Plan& plan, const Variation& variation) {
  constexpr std::array<std::size_t, 4> numbers{3, fewest_like_these, 8, 16};
  std::vector<OnMachines> result;
  if (!plan::tells_machines_apart(plan, plan.analysis.response)) return result;
  for (const Family& family : families(plan)) {
    if (family.scope != Scope::like_these) continue;
    const double alpha =
        level_of(plan, plan.analysis.alpha / static_cast<double>(family.comparisons));
    for (const auto& [compared, cells, error] : asked_of(plan, family)) {
      const auto known = known_of(plan, variation, compared, cells);
      if (!known) continue;
      OnMachines each{.treatment = compared.treatment, .sd = known->sd};
      for (const std::size_t machines : numbers)
        if (const auto found = stats::t_detectable(stats::Samples::paired, machines,
                                                   known->of_change, alpha, planned_power))
          each.smallest.push_back(
              {.machines = machines,
               .change = plan.analysis.log_scale ? std::expm1(*found) : *found});
      if (const auto& margin = plan.analysis.equivalence)
        if (const auto needed = stats::t_needed(
                stats::Samples::paired, plan.analysis.log_scale ? std::log1p(*margin) : *margin,
                known->of_change, alpha, planned_power))
          each.needed = *needed;
      result.push_back(std::move(each));
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

}  // namespace stab::results::prediction
