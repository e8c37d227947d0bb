// SPDX-License-Identifier: MIT
#include "results/causal_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "design/expand.h"
#include "report/words/causal_words.h"
#include "results/trials.h"
#include "stats/causal/analyse.h"
#include "stats/causal/arrival_loads.h"
#include "stats/causal/run_text.h"

namespace stab::results {
namespace {

using stats::causal::Profile;

// The factor that makes arrivals faster; nullptr if the plan does not have it.
const plan::Factor* arrivals_of(const plan::Plan& plan) {
  const auto found =
      std::ranges::find(plan.factors, plan::FactorKind::arrival_speedup, &plan::Factor::kind);
  return found == plan.factors.end() ? nullptr : &*found;
}

// In ascending order, which the analysis requires.
std::vector<plan::Level> levels_of(const plan::Factor& arrivals) {
  std::vector<plan::Level> levels = std::get<plan::FixedLevels>(arrivals.levels).levels;
  std::ranges::sort(levels, {}, &plan::Level::number);
  return levels;
}

template <class Cell>
Cell cell_of(const plan::Plan& plan, const store::Trial& trial, const plan::Factor* without) {
  Cell cell{.name = trial.benchmark, .benchmark = trial.benchmark};
  for (const std::size_t index : plan::treatments(plan)) {
    const plan::Factor& factor = plan.factors[index];
    const auto level = trial.levels.find(factor.name);
    if (&factor == without || level == trial.levels.end()) continue;
    cell.levels.insert(*level);
    cell.name += fmt::format(" {}={}", level->first, level->second);
  }
  return cell;
}

Result<void> add_run(const store::Trial& trial, Profile& profile) {
  if (auto read = stats::causal::read_run(trial.causal, profile); !read)
    return fail(fmt::format("trial {}, attempt {}: {}", trial.position, trial.attempt,
                            read.error().message));
  return {};
}

}  // namespace

Result<void> CausalCells::add(const plan::Plan& plan, const store::Trial& trial) {
  auto cell = cell_of<report::CausalCell>(plan, trial, nullptr);
  const auto [place, is_new] = places_.try_emplace(cell.name, cells_.size());
  if (is_new) cells_.push_back(std::move(cell));
  if (auto added = add_run(trial, cells_[place->second].profile); !added) return added;
  const plan::Factor* arrivals = arrivals_of(plan);
  return arrivals == nullptr ? Result<void>() : add_to_loads(plan, trial, *arrivals);
}

Result<void> CausalCells::add_to_loads(const plan::Plan& plan, const store::Trial& trial,
                                       const plan::Factor& arrivals) {
  const std::vector<plan::Level> levels = levels_of(arrivals);
  auto cell = cell_of<report::CausalLoads>(plan, trial, &arrivals);
  const auto [place, is_new] = places_with_loads_.try_emplace(cell.name, loads_.size());
  if (is_new) {
    for (const plan::Level& level : levels)
      cell.profile.loads.push_back({.asked = 0, .speedup_ns = level.number});
    loads_.push_back(std::move(cell));
  }
  Profile& profile = loads_[place->second].profile;
  if (auto added = add_run(trial, profile); !added) return added;
  const auto level = trial.levels.find(arrivals.name);
  const auto load = std::ranges::find(levels, level == trial.levels.end() ? "" : level->second,
                                      &plan::Level::name);
  if (load == levels.end())
    return fail(fmt::format("trial {}, attempt {}: its level of {} is not in the plan",
                            trial.position, trial.attempt, arrivals.name));
  profile.runs.back().load = static_cast<std::size_t>(load - levels.begin());
  profile.runs.back().block = trial.block;
  return {};
}

std::vector<report::CausalCell> CausalCells::result(const plan::Plan& plan) {
  for (report::CausalCell& cell : cells_) {
    auto made =
        stats::causal::analyse(cell.profile, {.alpha = plan.analysis.alpha, .seed = plan.seed});
    if (made)
      cell.analysis = *std::move(made);
    else
      cell.reason = made.error().message;
  }
  return std::move(cells_);
}

std::vector<report::CausalLoads> CausalCells::loads(const plan::Plan& plan) {
  for (report::CausalLoads& each : loads_) {
    auto made = stats::causal::analyse_loads(each.profile,
                                             {.alpha = plan.analysis.alpha, .seed = plan.seed});
    if (made)
      each.loads = *std::move(made);
    else
      each.reason = made.error().message;
  }
  return std::move(loads_);
}

void CausalCells::finish(const plan::Plan& plan, report::Document& document) {
  std::vector<std::string>& notes = document.analysis.notes;
  notes.emplace_back(
      "The times of trials include virtual pauses, so times are stored, but not compared between "
      "cells.");
  document.causal = result(plan);
  document.causal_loads = loads(plan);
  for (const report::CausalCell& cell : *document.causal)
    for (const std::string& each : report::sampling_remarks(
             cell.profile, plan.causal.sample_period,
             {.scope = "'causal.scope' and 'causal.binary'", .experiment = "'causal.experiment'"}))
      notes.push_back(cell.name + ": " + each);
}

}  // namespace stab::results
