// SPDX-License-Identifier: MIT
#include "results/cost.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "counters/readings.h"
#include "design/trial_list.h"
#include "results/rows.h"
#include "results/trials.h"
#include "stats/analyse/analyse.h"
#include "stats/data/dataset.h"
#include "stats/data/spec.h"
#include "stats/verdicts/analysis.h"

namespace stab::results {
namespace {

// The response if it is a time of the whole program, or else the CPU time.
std::string response_for_cost(const plan::Plan& plan) {
  constexpr std::array<std::string_view, 4> times{"wall", "user", "cpu", counters::relative_cpu};
  const std::string& response = plan.analysis.response;
  return std::ranges::find(times, response) == times.end() ? "cpu" : response;
}

// The levels of the cell that plain trials repeat.
std::map<std::string, std::string> first_cell_of(const plan::Plan& plan) {
  if (plan::lists_cells(plan.design.kind) && !plan.design.cells.empty())
    return plan.design.cells.front();
  std::map<std::string, std::string> levels;
  for (const std::size_t index : plan::treatments(plan)) {
    const plan::Factor& factor = plan.factors[index];
    levels[factor.name] = std::get<plan::FixedLevels>(factor.levels).levels.front().name;
  }
  return levels;
}

bool has_both(const CostSums::Pair& pair) {
  return pair.plain && pair.random;
}

// The pairs as a design in blocks with one treatment.
stats::Dataset data_of(const std::vector<CostSums::Pair>& pairs, const plan::Plan& plan) {
  stats::Dataset data;
  stats::Column subjects{.name = subject_column};
  stats::Column blocks{.name = block_column};
  stats::Column layouts{.name = plan::plain_column, .levels = {plan::plain_level, "on"}};
  std::map<std::size_t, std::uint32_t> places;  // of benchmarks, in the plan's order
  for (const CostSums::Pair& pair : pairs) places[pair.benchmark] = 0;
  for (auto& [benchmark, place] : places) {
    place = static_cast<std::uint32_t>(subjects.levels.size());
    subjects.levels.push_back(plan.benchmarks[benchmark].name);
  }
  std::optional<std::uint32_t> block;
  for (const CostSums::Pair& pair : pairs) {
    if (block != pair.block) blocks.levels.push_back(std::to_string(pair.block));
    block = pair.block;
    for (const bool random : {false, true}) {
      subjects.codes.push_back(places.at(pair.benchmark));
      blocks.codes.push_back(static_cast<std::uint32_t>(blocks.levels.size() - 1));
      layouts.codes.push_back(random ? 1 : 0);
      data.response.push_back(random ? *pair.random : *pair.plain);
    }
  }
  data.columns = {std::move(subjects), std::move(blocks), std::move(layouts)};
  data.lists_lost = true;  // nothing stands for pairs that are not complete
  return data;
}

// Uses the estimator of all comparisons within blocks, so the cost has an error of its own.
stats::Spec spec_for_cost(const plan::Plan& plan, const std::string& response, bool has_several) {
  stats::Spec spec;
  spec.response = response;
  describe_response(spec);
  if (response == counters::relative_cpu) spec.unit = stats::Unit::number;
  spec.design = has_several ? stats::Design::within_subjects : stats::Design::factorial;
  spec.programs = stats::Programs::these;
  spec.subject = subject_column;
  spec.treatments = {plan::plain_column};
  spec.block = block_column;
  spec.alpha = plan.analysis.alpha;
  spec.random_seed = plan.seed;
  spec.assumptions = false;
  spec.interactions = false;
  return spec;
}

// The blocks of all benchmarks are those in which each benchmark has both trials.
report::Cost::Of cost_of(const stats::Effect& effect) {
  report::Cost::Of of{.benchmark = effect.subject, .ratio = effect.ratio, .blocks = effect.units};
  if (effect.units < plan::least_plain_trials) return of;
  of.low = effect.low;
  of.high = effect.high;
  return of;
}

}  // namespace

CostSums::CostSums(const plan::Plan& plan)
    : plan_(plan), response_(response_for_cost(plan)), first_cell_(first_cell_of(plan)) {}

void CostSums::add(const store::Trial& trial) {
  if (!plan_.analysis.cost) return;
  const bool plain = is_plain(trial);
  const bool is_repeated = std::ranges::all_of(first_cell_, [&](const auto& wanted) {
    const auto level = trial.levels.find(wanted.first);
    return level != trial.levels.end() && level->second == wanted.second;
  });
  const auto benchmark =
      std::ranges::find(plan_.benchmarks, trial.benchmark, &plan::Benchmark::name);
  const auto number = response_of(trial, response_);
  if ((!plain && !is_repeated) || benchmark == plan_.benchmarks.end() || !number ||
      !(counters::to_double(*number) > 0))
    return;
  if (!open_.empty() && open_.front().block != trial.block) {
    std::ranges::copy_if(open_, std::back_inserter(pairs_), has_both);
    open_.clear();
  }
  const auto place = static_cast<std::size_t>(benchmark - plan_.benchmarks.begin());
  auto pair = std::ranges::find(open_, place, &Pair::benchmark);
  if (pair == open_.end()) {
    open_.push_back({.block = trial.block, .benchmark = place});
    pair = std::prev(open_.end());
  }
  (plain ? pair->plain : pair->random) = counters::to_double(*number);
  if (plain) return;
  pair->functions = trial.layout.random_code.value_or(false);
  pair->stack_frames = trial.layout.random_stack.value_or(false);
  pair->heap_blocks = trial.layout.random_heap.value_or(false);
}

std::vector<CostSums::Pair> CostSums::complete() const {
  std::vector<Pair> all = pairs_;
  std::ranges::copy_if(open_, std::back_inserter(all), has_both);
  return all;
}

std::optional<report::Cost> CostSums::result() const {
  if (!plan_.analysis.cost) return std::nullopt;
  report::Cost cost{.response = response_, .alpha = plan_.analysis.alpha};
  const std::vector<Pair> pairs = complete();
  if (pairs.empty()) return cost;
  for (const auto& [part, name] : {std::pair(&Pair::functions, "functions"),
                                   {&Pair::stack_frames, "stack frames"},
                                   {&Pair::heap_blocks, "heap blocks"}})
    if (std::ranges::any_of(pairs, part)) cost.off.emplace_back(name);
  if (cost.off.empty()) return std::nullopt;
  const bool has_several = std::ranges::any_of(
      pairs, [&](const Pair& pair) { return pair.benchmark != pairs.front().benchmark; });
  const stats::Analysis analysis =
      stats::analyse(data_of(pairs, plan_), spec_for_cost(plan_, response_, has_several));
  for (const stats::Effect& effect : analysis.effects) {
    if (effect.scope == stats::Scope::these) cost.all = cost_of(effect);
    if (effect.scope == stats::Scope::subject) cost.benchmarks.push_back(cost_of(effect));
  }
  if (has_several || cost.benchmarks.empty()) return cost;
  cost.all = cost.benchmarks.front();
  cost.all.benchmark.clear();
  return cost;
}

}  // namespace stab::results
