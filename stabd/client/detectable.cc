// SPDX-License-Identifier: MIT
#include "stabd/client/detectable.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "plan/expand.h"
#include "stats/power.h"
#include "stats/repeated.h"
#include "stats/stopping.h"

namespace stab::client {
namespace {

using nlohmann::json;

struct Treatment {
  std::string name;
  std::size_t levels = 0;
};

std::vector<Treatment> treatments_of(const plan::Plan& plan) {
  std::vector<Treatment> result;
  for (const std::size_t index : plan::treatments(plan)) {
    const plan::Factor& factor = plan.factors[index];
    result.push_back({factor.name, std::get<plan::FixedLevels>(factor.levels).levels.size()});
  }
  return result;
}

std::string text_of(const json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_string() ? found->get<std::string>() : "";
}

// Trials of a benchmark at one level of a treatment in the earlier experiment.
double trials_at_a_level(const json& report, const std::string& treatment) {
  std::map<std::string, double> counts;  // by benchmark and level
  for (const json& mean : report.value("means", json::array())) {
    const json& levels = mean.at("levels");
    if (levels.contains(treatment))
      counts[text_of(mean, "benchmark") + "\n" + levels.at(treatment).get<std::string>()] +=
          mean.value("n", 0.0);
  }
  double reciprocals = 0;
  for (const auto& [cell, n] : counts) reciprocals += 1 / n;
  return counts.empty() ? 0 : static_cast<double>(counts.size()) / reciprocals;
}

std::optional<double> sd_of(const Variation& variation, const plan::Benchmark& benchmark) {
  const auto own = variation.trials.find(benchmark.name);
  return own != variation.trials.end() ? std::optional(own->second) : variation.all_trials;
}

// The level of the report's intervals and tests when all blocks are run.
double alpha_of(const plan::Plan& plan) {
  const auto& stop = plan.design.stop;
  const double alpha = plan.analysis.alpha;
  if (!stop) return alpha;
  if (stop->rule == plan::StopRule::precision) return stats::precision_alpha(alpha);
  std::vector<std::size_t> planned(stop->looks.begin(), stop->looks.end());
  planned.push_back(stop->max);
  const auto last = stats::Repeated::at({.planned = std::move(planned), .blocks = stop->max});
  return last ? last->level(alpha) : alpha;
}

std::optional<Detectable> factorial(const plan::Plan& plan, const plan::Benchmark& benchmark,
                                    std::size_t treatment, double sd) {
  const std::vector<Treatment> treatments = treatments_of(plan);
  std::vector<std::size_t> shape;
  for (const Treatment& each : treatments) shape.push_back(each.levels);
  const auto found = stats::factorial_detectable(
      {.shape = shape,
       .blocks = benchmark.repetitions,
       .randomized_blocks = plan.design.kind != plan::DesignKind::one_way},
      treatment, sd, alpha_of(plan), planned_power);
  if (!found) return std::nullopt;
  return Detectable{.benchmark = benchmark.name,
                    .treatment = treatments[treatment].name,
                    .sd = sd,
                    .change = std::expm1(*found)};
}

// Each main effect compares the halves of all cells, as in a complete design of so many.
std::optional<Detectable> fractional(const plan::Plan& plan, const plan::Benchmark& benchmark,
                                     const Treatment& treatment, double sd) {
  const std::vector<std::size_t> shape(
      static_cast<std::size_t>(std::bit_width(plan.design.cells.size()) - 1), 2);
  const auto found = stats::factorial_detectable({.shape = shape, .blocks = benchmark.repetitions},
                                                 0, sd, alpha_of(plan), planned_power);
  if (!found) return std::nullopt;
  return Detectable{.benchmark = benchmark.name,
                    .treatment = treatment.name,
                    .sd = sd,
                    .change = std::expm1(*found)};
}

const plan::RandomSeeds* seeds_of(const plan::Plan& plan) {
  for (const plan::Factor& factor : plan.factors)
    if (const auto* seeds = std::get_if<plan::RandomSeeds>(&factor.levels)) return seeds;
  return nullptr;
}

// The sd of a seed's change: an earlier one, or what trials alone make of it.
std::optional<Detectable> padding(const plan::Plan& plan, const plan::Benchmark& benchmark,
                                  const Treatment& treatment, const Variation& variation) {
  const plan::RandomSeeds* seeds = seeds_of(plan);
  if (seeds == nullptr) return std::nullopt;
  std::optional<double> sd;
  if (const auto known = variation.changes.find(benchmark.name); known != variation.changes.end())
    sd = known->second;
  else if (const auto trials = sd_of(variation, benchmark))
    sd = *trials * std::sqrt(2.0 / static_cast<double>(seeds->runs));
  if (!sd) return std::nullopt;
  const auto found = stats::t_detectable(stats::Samples::paired, seeds->seeds, *sd,
                                         plan.analysis.alpha, planned_power);
  if (!found) return std::nullopt;
  return Detectable{
      .benchmark = benchmark.name, .treatment = treatment.name, .sd = *sd, .change = *found};
}

std::optional<Detectable> within(const plan::Plan& plan, const Treatment& treatment, double sd) {
  const auto found = stats::t_detectable(stats::Samples::paired, plan.benchmarks.size(), sd,
                                         plan.analysis.alpha, planned_power);
  if (!found) return std::nullopt;
  return Detectable{
      .benchmark = "", .treatment = treatment.name, .sd = sd, .change = std::expm1(*found)};
}

}  // namespace

Variation variation_of(const json& report, const plan::Plan& plan) {
  Variation result;
  const json analysis = report.value("analysis", json::object());
  // A padding study analyses percentages.
  const bool percent = plan.design.kind == plan::DesignKind::padding_study;
  if (text_of(analysis, "response") != plan.analysis.response ||
      analysis.value("log_scale", false) == percent)
    return result;
  for (const json& row : report.value("anova", json::array())) {
    if (text_of(row, "term") != "Residuals" || !row.at("ms").is_number()) continue;
    const double ms = row.at("ms").get<double>();
    if (percent) {
      result.changes[text_of(row, "benchmark")] = std::sqrt(ms) / 100;
      continue;
    }
    const std::string stratum = text_of(row, "stratum");
    if (stratum.empty()) result.trials[text_of(row, "benchmark")] = std::sqrt(ms);
    if (stratum == "Within") result.all_trials = std::sqrt(ms);
    for (const Treatment& treatment : treatments_of(plan)) {
      const double n = trials_at_a_level(report, treatment.name);
      if (stratum == "benchmark:" + treatment.name && n > 0)
        result.effects[treatment.name] = std::sqrt(2 * ms / n);
    }
  }
  return result;
}

std::vector<Detectable> detectable(const plan::Plan& plan, const Variation& variation) {
  std::vector<Detectable> result;
  const std::vector<Treatment> treatments = treatments_of(plan);
  const auto add = [&](const std::optional<Detectable>& found) {
    if (found) result.push_back(*found);
  };
  if (plan.design.kind == plan::DesignKind::within_subjects) {
    for (const Treatment& treatment : treatments)
      if (const auto sd = variation.effects.find(treatment.name); sd != variation.effects.end())
        add(within(plan, treatment, sd->second));
    return result;
  }
  for (const plan::Benchmark& benchmark : plan.benchmarks) {
    const auto sd = sd_of(variation, benchmark);
    for (std::size_t i = 0; i < treatments.size(); ++i) switch (plan.design.kind) {
        case plan::DesignKind::full_factorial:
        case plan::DesignKind::one_way:
          if (sd) add(factorial(plan, benchmark, i, *sd));
          break;
        case plan::DesignKind::fractional:
          if (sd) add(fractional(plan, benchmark, treatments[i], *sd));
          break;
        case plan::DesignKind::padding_study:
          add(padding(plan, benchmark, treatments[i], variation));
          break;
        default:
          break;
      }
  }
  return result;
}

std::optional<std::size_t> blocks_for_precision(const plan::Plan& plan,
                                                const Variation& variation) {
  const auto& stop = plan.design.stop;
  if (!stop || stop->rule != plan::StopRule::precision) return std::nullopt;
  const std::vector<Treatment> treatments = treatments_of(plan);
  double cells = 1;
  for (const Treatment& treatment : treatments) cells *= static_cast<double>(treatment.levels);
  std::optional<std::size_t> most;
  for (const plan::Benchmark& benchmark : plan.benchmarks) {
    const auto sd = sd_of(variation, benchmark);
    for (std::size_t i = 0; sd && i < treatments.size(); ++i) {
      // A block's difference averages over the cells of the other treatments.
      const double others = cells / static_cast<double>(treatments[i].levels);
      const auto needed =
          stats::needed_for_half_width(stats::Samples::paired, stop->half_width,
                                       *sd * std::sqrt(2 / others), alpha_of(plan), 0.5);
      if (needed) most = std::max<std::size_t>({most.value_or(0), *needed, stop->min()});
    }
  }
  return most;
}

}  // namespace stab::client
