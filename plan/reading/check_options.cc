// SPDX-License-Identifier: MIT
// Checks that the options that a plan sets for the runtime make a difference in every cell, and
// that the programs can have them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

#include "design/resolve.h"
#include "design/trial_list.h"
#include "plan/options.h"
#include "plan/reading/draft.h"
#include "plan/reading/read_plan.h"
#include "plan/texts.h"

namespace stab::plan {
namespace {

bool is_ours(const Factor& factor) {
  return factor.kind == FactorKind::option || factor.kind == FactorKind::layout;
}

// The name of the factor's option in the runtime.
std::string option_name(const Factor& factor) {
  return factor.kind == FactorKind::layout ? seed_option : factor.name;
}

// A random factor is represented by its first value.
std::vector<Level> levels_to_try(const Factor& factor) {
  if (const auto* fixed = std::get_if<FixedLevels>(&factor.levels)) return fixed->levels;
  return {Level{.name = "1", .variables = {}, .number = 1}};
}

// A combination of levels: the cell, for messages, and the options, for the runtime.
struct Combination {
  Cell cell;  // treatments only
  Options options;
};

class OptionChecker {
 public:
  explicit OptionChecker(Draft& draft) : draft_(draft) {
    plan_.randomize = draft.plan.randomize;
    for (const DraftFactor& factor : draft.factors)
      if (is_ours(factor.value)) plan_.factors.push_back(factor.value);
    if (lists_cells(draft.plan.design.kind))
      for (const DraftCell& cell : draft.cells) add_listed(cell.value);
    else if (count_all() <= max_cells)  // otherwise check_size() refuses them
      add_all(0, {});
  }

  void check() {
    check_given_once();
    if (!sets_options(plan_) || combinations_.empty()) return;
    if (!lists_cells(draft_.plan.design.kind)) check_cells_differ();
    check_listed_cells_differ();
    for (const auto& [name, at] : draft_.randomize_at)
      if (!acts_somewhere(name)) refuse_idle(at, fmt::format("'randomize.{}'", name), name);
    for (const DraftFactor& factor : draft_.factors) check_factor(factor);
  }

 private:
  [[nodiscard]] std::size_t count_all() const {
    std::size_t count = 1;
    for (const Factor& factor : plan_.factors)
      count = std::min(count, std::size_t{max_cells}) * levels_to_try(factor).size();
    return count;
  }

  // Adds the combinations in the order of the factors; the last factor changes fastest.
  void add_all(std::size_t next, const std::vector<Level>& levels) {
    if (next == plan_.factors.size()) return add(levels);
    for (const Level& level : levels_to_try(plan_.factors[next])) {
      std::vector<Level> longer = levels;
      longer.push_back(level);
      add_all(next + 1, longer);
    }
  }

  void add_listed(const Cell& cell) {
    std::vector<Level> levels;
    for (const Factor& factor : plan_.factors) {
      std::vector<Level> all = levels_to_try(factor);
      const auto named = cell.find(factor.name);
      const auto found =
          named == cell.end() ? all.begin() : std::ranges::find(all, named->second, &Level::name);
      levels.push_back(*found);
    }
    add(levels);
  }

  void add(const std::vector<Level>& levels) {
    Combination combination{.cell = {}, .options = acting(options_of(plan_, levels))};
    for (std::size_t i = 0; i < levels.size(); ++i)
      if (plan_.factors[i].is_treatment()) combination.cell[plan_.factors[i].name] = levels[i].name;
    combinations_.push_back(std::move(combination));
  }

  void check_given_once() {
    for (const DraftFactor& factor : draft_.factors)
      if (const auto twice = draft_.randomize_at.find(factor.value.name);
          twice != draft_.randomize_at.end())
        draft_.problems.add(twice->second,
                            fmt::format("'{0}' is set in [randomize] and is also a factor: remove "
                                        "'randomize.{0}', or [factor.{0}]",
                                        factor.value.name));
  }

  static std::string shown_cell(const Cell& cell) {
    std::vector<std::string> parts;
    for (const auto& [factor, level] : cell) parts.push_back(fmt::format("{} = {}", factor, level));
    return fmt::format("{}", fmt::join(parts, ", "));
  }

  void check_cells_differ() {
    std::map<Options, const Combination*> seen;
    for (const Combination& combination : combinations_) {
      const auto [first, is_new] = seen.emplace(combination.options, &combination);
      if (is_new) continue;
      draft_.problems.add(
          position_of(combination.cell),
          fmt::format("the cells ({}) and ({}) are equivalent: set design.kind = \"custom\", and "
                      "list the cells that you want",
                      shown_cell(first->second->cell), shown_cell(combination.cell)));
      return;
    }
  }

  // Listed cells have other treatments, too, and may differ in those.
  void check_listed_cells_differ() {
    if (!lists_cells(draft_.plan.design.kind)) return;
    std::map<std::pair<Cell, Options>, const Cell*> seen;
    for (std::size_t i = 0; i < draft_.cells.size(); ++i) {
      const Cell& cell = draft_.cells[i].value;
      Cell others = cell;
      for (const Factor& factor : plan_.factors) others.erase(factor.name);
      const auto [first, is_new] =
          seen.emplace(std::pair(std::move(others), combinations_[i].options), &cell);
      if (!is_new)
        draft_.problems.add(draft_.cells[i].at,
                            fmt::format("this cell is equivalent to ({}): remove one of them",
                                        shown_cell(*first->second)));
    }
  }

  [[nodiscard]] bool acts_somewhere(const std::string& name) const {
    return std::ranges::any_of(combinations_,
                               [&](const auto& each) { return each.options.contains(name); });
  }

  void check_factor(const DraftFactor& factor) {
    if (!is_ours(factor.value)) return;
    const std::string name = option_name(factor.value);
    const bool is_nested = std::holds_alternative<RandomSeeds>(factor.value.levels);
    if (!acts_somewhere(name))
      refuse_idle(factor.at, fmt::format("the factor '{}'", factor.value.name), name);
    else if (is_nested && !std::ranges::all_of(combinations_, [&](const auto& each) {
               return each.options.contains(name);
             }))
      draft_.problems.add(
          factor.at,
          fmt::format("in cells without a random layout, the factor '{}' has no effect, but each "
                      "of its seeds would count as a different layout",
                      factor.value.name));
  }

  void refuse_idle(Position at, std::string_view what, std::string_view name) {
    const RuntimeOption* option = find_option(name);
    const std::string_view flag =
        option == nullptr || option->acts_with.empty() ? "code" : option->acts_with.front();
    const std::string_view more =
        name == "period" || name == "budget" ? "rerandomize = \"repeated\" and " : "";
    draft_.problems.add(at, fmt::format("{} has no effect without {}{} = true", what, more, flag));
  }

  [[nodiscard]] Position position_of(const Cell& cell) const {
    for (const DraftFactor& factor : draft_.factors)
      if (is_ours(factor.value) && cell.contains(factor.value.name)) return factor.at;
    return draft_.design_at;
  }

  Draft& draft_;
  Plan plan_;  // with only the factors that set options, and [randomize]
  std::vector<Combination> combinations_;
};

// Whether any text that may replace the names in the build names szc.
bool may_use_szc(const Draft& draft, const std::string& build) {
  if (names_szc(build)) return true;
  const std::vector<std::string> names = names_in(build);
  const auto is_named = [&](const Variables& variables) {
    return std::ranges::any_of(variables, [&](const auto& variable) {
      return std::ranges::find(names, variable.first) != names.end() && names_szc(variable.second);
    });
  };
  if (is_named(draft.plan.variables)) return true;
  return std::ranges::any_of(draft.factors, [&](const DraftFactor& factor) {
    const auto* fixed = std::get_if<FixedLevels>(&factor.value.levels);
    return fixed != nullptr && std::ranges::any_of(fixed->levels, [&](const Level& level) {
             return is_named(level.variables);
           });
  });
}

bool is_for_any_program(const std::string& name) {
  const RuntimeOption* option = find_option(name);
  return option != nullptr && option->for_any_program;
}

// A build that does not name a compiler may find szc by itself, for example in a makefile. The
// trials will tell.
bool names_compiler(const std::string& build) {
  return std::ranges::any_of(names_in(build),
                             [](const std::string& name) { return name == "CC" || name == "CXX"; });
}

void check_compilers(Draft& draft, Position at, std::string_view what) {
  for (const DraftBenchmark& benchmark : draft.benchmarks) {
    if (!benchmark.build) continue;
    const std::string& build = benchmark.build->text;
    if (!names_compiler(build) || may_use_szc(draft, build)) continue;
    draft.problems.add(
        at, fmt::format("{} needs programs built by szc, but the build of '{}' uses another "
                        "compiler: set CC = \"szc\" and CXX = \"szc++\" in [variables]",
                        what, benchmark.value.name));
  }
}

}  // namespace

void check_options(Draft& draft) {
  if (!draft.factors_are_good || !draft.kind_is_good || !draft.cells_are_good) return;
  OptionChecker(draft).check();
  for (const DraftFactor& factor : draft.factors)
    if (is_ours(factor.value) && !is_for_any_program(factor.value.name))
      check_compilers(draft, factor.at, fmt::format("the factor '{}'", factor.value.name));
  for (const auto& [name, level] : draft.plan.randomize)
    if (level.name != "false" && !is_for_any_program(name))
      check_compilers(draft, draft.randomize_at.at(name), fmt::format("'randomize.{}'", name));
}

}  // namespace stab::plan
