// SPDX-License-Identifier: MIT
// Nothing in a plan silently does nothing: builds make what is run, factors act on every benchmark.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "design/expand.h"
#include "design/resolve.h"
#include "plan/reading/draft.h"
#include "plan/substitute.h"

namespace stab::plan {
namespace {

using Names = std::set<std::string>;

void add_names(Names& names, const Template& text) {
  for (std::string& name : names_in(text.text)) names.insert(std::move(name));
}

// For each variable, the names that its values use: OUT, DIR or SRC.
std::map<std::string, Names> names_in_values(const Draft& draft) {
  std::map<std::string, Names> inside;
  const auto add = [&](const Variables& variables) {
    for (const auto& [name, value] : variables)
      for (std::string& used : names_in(value)) inside[name].insert(std::move(used));
  };
  add(draft.plan.variables);
  for (const DraftFactor& factor : draft.factors)
    if (const auto* fixed = std::get_if<FixedLevels>(&factor.value.levels))
      for (const Level& level : fixed->levels) add(level.variables);
  return inside;
}

// Those of the text, and through the values of its variables.
Names names_of(const Template& text, const std::map<std::string, Names>& inside) {
  Names names;
  add_names(names, text);
  const Names direct = names;
  for (const std::string& name : direct)
    if (const auto found = inside.find(name); found != inside.end())
      names.insert(found->second.begin(), found->second.end());
  return names;
}

void check_without_build(const DraftBenchmark& benchmark,
                         const std::map<std::string, Names>& inside, Problems& problems) {
  for (const Template& text : benchmark.run) {
    const Names names = names_of(text, inside);
    for (const char* own : {"OUT", "DIR"})
      if (names.contains(own))
        problems.add(text.at,
                     fmt::format("'{}' uses ${{{}}}, but the benchmark '{}' has no build: add "
                                 "benchmark.build, or name the program itself",
                                 text.path, own, benchmark.value.name));
  }
}

void check_with_build(const DraftBenchmark& benchmark, const std::map<std::string, Names>& inside,
                      Problems& problems) {
  Names run;
  for (const Template& text : benchmark.run) run.merge(names_of(text, inside));
  const bool makes_out = names_of(*benchmark.build, inside).contains("OUT");
  if (!makes_out && !run.contains("DIR"))
    problems.add(benchmark.build->at,
                 fmt::format("'benchmark.build' of '{}' must write the file ${{OUT}}, or "
                             "benchmark.run must use one in ${{DIR}}",
                             benchmark.value.name));
  else if (!run.contains("OUT") && !run.contains("DIR"))
    problems.add(
        benchmark.build->at,
        fmt::format("'benchmark.build' of '{}' writes ${{OUT}}, but benchmark.run does not use it",
                    benchmark.value.name));
}

// Levels that differ only in variables which this benchmark does not use.
void check_levels_differ(const DraftFactor& factor, const Names& used, const std::string& benchmark,
                         Problems& problems) {
  std::map<std::vector<std::string_view>, std::string_view> seen;
  for (const Level& level : std::get<FixedLevels>(factor.value.levels).levels) {
    std::vector<std::string_view> values;
    for (const auto& [name, value] : level.variables)
      if (used.contains(name)) values.push_back(value);
    const auto [first, is_new] = seen.emplace(std::move(values), level.name);
    if (is_new) continue;
    problems.add(factor.at,
                 fmt::format("the levels '{}' and '{}' of the factor '{}' are the same for the "
                             "benchmark '{}', which does not use the variables they differ in",
                             first->second, level.name, factor.value.name, benchmark));
    return;
  }
}

void check_user_factor(const DraftFactor& factor, const Names& used, const std::string& benchmark,
                       Problems& problems) {
  const Variables& variables = std::get<FixedLevels>(factor.value.levels).levels.front().variables;
  if (variables.empty()) return;  // of revisions
  const auto is_used = [&](const auto& variable) { return used.contains(variable.first); };
  const auto count = std::ranges::count_if(variables, is_used);
  if (count == 0)
    problems.add(
        factor.at,
        fmt::format("the factor '{}' has no effect on the benchmark '{}': use {} in its build, "
                    "run, env, stdin, prepare or cleanup",
                    factor.value.name, benchmark,
                    fmt::format("${{{}}}", fmt::join(std::views::keys(variables), "} or ${"))));
  else if (std::cmp_less(count, variables.size()))
    check_levels_differ(factor, used, benchmark, problems);
}

void check_revisions(const DraftFactor& factor, const DraftBenchmark& benchmark,
                     Problems& problems) {
  if (std::get<FixedLevels>(factor.value.levels).levels.front().revision.empty()) return;
  if (benchmark.build) return;
  problems.add(benchmark.at, fmt::format("the factor '{}' has no effect on the benchmark '{}', "
                                         "which has no build: add benchmark.build",
                                         factor.value.name, benchmark.value.name));
}

void check_link_factor(const DraftFactor& factor, const DraftBenchmark& benchmark,
                       Problems& problems) {
  if (benchmark.build && acts_on_build(Plan{}, benchmark.value, factor.value)) return;
  problems.add(benchmark.build ? benchmark.build->at : benchmark.at,
               fmt::format("the factor '{}' acts through ${{LDFLAGS}}, which the benchmark '{}' "
                           "does not use: add it to the link command in benchmark.build",
                           factor.value.name, benchmark.value.name));
}

}  // namespace

void check_builds(Draft& draft) {
  const auto inside = names_in_values(draft);
  for (const DraftBenchmark& benchmark : draft.benchmarks) {
    if (benchmark.run.empty()) continue;  // a problem already
    if (benchmark.build)
      check_with_build(benchmark, inside, draft.problems);
    else
      check_without_build(benchmark, inside, draft.problems);
  }
}

void check_factors(Draft& draft) {
  if (!draft.factors_are_good) return;
  for (const DraftBenchmark& benchmark : draft.benchmarks) {
    Names used;
    if (benchmark.build) add_names(used, *benchmark.build);
    for (const Template& text : benchmark.run) add_names(used, text);
    for (const DraftFactor& factor : draft.factors) {
      if (factor.value.kind == FactorKind::user) {
        check_user_factor(factor, used, benchmark.value.name, draft.problems);
        check_revisions(factor, benchmark, draft.problems);
      }
      if (factor.value.kind == FactorKind::link_order ||
          factor.value.kind == FactorKind::link_padding)
        check_link_factor(factor, benchmark, draft.problems);
    }
  }
}

}  // namespace stab::plan
