// SPDX-License-Identifier: MIT
#include "plan/reading/reader.h"

#include <fmt/format.h>

#include <utility>

#include "plan/reading/draft.h"

namespace stab::plan {
namespace {

std::unexpected<std::vector<Problem>> only(Position at, std::string message) {
  Problems problems;
  problems.add(at, std::move(message));
  return std::unexpected(std::move(problems).take());
}

void read_tables(const Value& tree, Draft& draft) {
  const Table root(draft.problems, tree, "", names_below(""));
  read_experiment(root, draft);
  read_variables(root, draft);
  read_benchmarks(root, draft);
  read_factors(root, draft);
  read_randomize(root, draft);
  read_design(root, draft);
  read_causal(root, draft);
  read_exclude(root, draft);
  read_measure(root, draft);
  read_machine(root, draft);
  read_analysis(root, draft);
}

void check_tables(Draft& draft) {
  check_names(draft);
  check_builds(draft);
  check_factors(draft);
  check_design(draft);
  check_stop(draft);
  check_analysis(draft);
  check_exclude(draft);
  check_studies(draft);
  check_turns(draft);
  check_simulated(draft);
  check_causal(draft);
  check_options(draft);
  check_size(draft);
}

Plan finish(Draft draft) {
  Plan plan = std::move(draft.plan);
  for (DraftFactor& factor : draft.factors) plan.factors.push_back(std::move(factor.value));
  for (DraftBenchmark& benchmark : draft.benchmarks)
    plan.benchmarks.push_back(std::move(benchmark.value));
  for (DraftCell& cell : draft.cells) plan.design.cells.push_back(std::move(cell.value));
  for (const Factor& factor : plan.factors)
    if (const auto* nested = std::get_if<RandomSeeds>(&factor.levels))
      for (Benchmark& benchmark : plan.benchmarks) benchmark.repetitions = nested->runs;
  if (plan.design.stop)
    for (Benchmark& benchmark : plan.benchmarks) benchmark.repetitions = plan.design.stop->max;
  return plan;
}

}  // namespace

std::expected<Plan, std::vector<Problem>> read_plan(std::string_view text) {
  if (text.size() > max_plan_bytes)
    return only({}, fmt::format("the plan has {} bytes, at most {} are read: is it the right file?",
                                text.size(), max_plan_bytes));
  const auto tree = toml::parse_toml(text);
  if (!tree) return only(tree.error().at, tree.error().message);
  if (std::get<Pairs>(tree->data).empty())
    return only(
        {}, "the plan is empty: it needs at least [experiment] with a name and one [[benchmark]]");
  Draft draft;
  read_tables(*tree, draft);
  check_tables(draft);
  if (!draft.problems.empty()) return std::unexpected(std::move(draft.problems).take());
  return finish(std::move(draft));
}

}  // namespace stab::plan
