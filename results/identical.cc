// SPDX-License-Identifier: MIT
#include "results/identical.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "design/resolve.h"

namespace stab::results {
namespace {

// How one benchmark's binaries compare at all levels of a factor, or at two of its levels.
enum class Likeness { unknown, different, identical };

// Binaries of one benchmark whose levels differ in one factor only.
using Group = std::vector<const Binary*>;

std::vector<Group> groups_along(std::span<const Binary> binaries, std::uint32_t benchmark,
                                std::size_t factor) {
  std::map<std::vector<std::string>, Group> groups;
  for (const Binary& binary : binaries) {
    if (binary.benchmark != benchmark || binary.levels[factor].empty()) continue;
    auto shared = binary.levels;
    shared[factor].clear();
    groups[shared].push_back(&binary);
  }
  std::vector<Group> result;
  for (auto& [shared, group] : groups) result.push_back(std::move(group));
  return result;
}

// Compares all pairs of binaries that have these two levels and share all other levels.
Likeness likeness(std::span<const Group> groups, std::size_t factor, const std::string& first,
                  const std::string& second) {
  Likeness result = Likeness::unknown;
  for (const Group& group : groups) {
    const auto of = [&](const std::string& level) {
      const auto found = std::ranges::find_if(
          group, [&](const Binary* binary) { return binary->levels[factor] == level; });
      return found == group.end() ? nullptr : *found;
    };
    const Binary* const a = of(first);
    const Binary* const b = of(second);
    if (a == nullptr || b == nullptr) continue;
    if (a->sha256 != b->sha256) return Likeness::different;
    result = Likeness::identical;
  }
  return result;
}

// A small program has few possible layouts, so two random levels may give the same binary; it is
// suspicious only if all levels do.
Likeness likeness_of_all(std::span<const Group> groups) {
  Likeness result = Likeness::unknown;
  for (const Group& group : groups) {
    std::set<std::string> binaries;
    for (const Binary* binary : group) binaries.insert(binary->sha256);
    if (binaries.size() > 1) return Likeness::different;
    if (group.size() > 1) result = Likeness::identical;
  }
  return result;
}

std::string blame(const plan::Plan& plan, std::size_t factor, const std::string& first,
                  const std::string& second) {
  const std::string& name = plan.factors[factor].name;
  const std::string where = plan.benchmarks.size() == 1
                                ? fmt::format("of '{}'", plan.benchmarks.front().name)
                                : fmt::format("of each benchmark that was built");
  return fmt::format(
      "the binaries {} at {} = {} and {} = {} are identical, so the factor would do nothing: "
      "change its levels, or use its variable where the build passes it to the compiler",
      where, name, first, name, second);
}

// At least one benchmark's binaries are identical, and no benchmark's are known to differ.
bool identical_everywhere(std::span<const Likeness> benchmarks) {
  const auto any = [&](Likeness likeness) {
    return std::ranges::find(benchmarks, likeness) != benchmarks.end();
  };
  return any(Likeness::identical) && !any(Likeness::different);
}

std::optional<std::string> identical_levels(const plan::Plan& plan, std::size_t factor,
                                            std::span<const std::vector<Group>> groups) {
  const auto& levels = std::get<plan::FixedLevels>(plan.factors[factor].levels).levels;
  for (std::size_t a = 0; a < levels.size(); ++a)
    for (std::size_t b = a + 1; b < levels.size(); ++b) {
      std::vector<Likeness> benchmarks;
      for (const std::vector<Group>& each : groups)
        benchmarks.push_back(likeness(each, factor, levels[a].name, levels[b].name));
      if (identical_everywhere(benchmarks))
        return blame(plan, factor, levels[a].name, levels[b].name);
    }
  return std::nullopt;
}

std::optional<std::string> identical_values(const plan::Plan& plan, std::size_t factor,
                                            std::span<const std::vector<Group>> groups) {
  std::vector<Likeness> benchmarks;
  for (const std::vector<Group>& each : groups) benchmarks.push_back(likeness_of_all(each));
  if (!identical_everywhere(benchmarks)) return std::nullopt;
  for (const std::vector<Group>& each : groups)
    for (const Group& group : each)
      if (group.size() > 1)
        return blame(plan, factor, group[0]->levels[factor], group[1]->levels[factor]);
  return std::nullopt;
}

}  // namespace

std::vector<std::string> build_levels(const plan::Plan& plan, const plan::Trial& trial) {
  std::vector<std::string> levels;
  const plan::Benchmark& benchmark = plan.benchmarks[trial.benchmark];
  for (std::size_t i = 0; i < plan.factors.size(); ++i)
    levels.push_back(plan::acts_on_build(plan, benchmark, plan.factors[i]) ? trial.levels[i].name
                                                                           : "");
  return levels;
}

std::optional<std::string> find_identical(const plan::Plan& plan,
                                          std::span<const Binary> binaries) {
  for (std::size_t factor = 0; factor < plan.factors.size(); ++factor) {
    std::vector<std::vector<Group>> groups;
    bool elsewhere = false;  // the factor acts on how a benchmark runs, not on its build
    for (std::uint32_t i = 0; i < plan.benchmarks.size(); ++i) {
      elsewhere = elsewhere || !plan::acts_on_build(plan, plan.benchmarks[i], plan.factors[factor]);
      groups.push_back(groups_along(binaries, i, factor));
    }
    if (elsewhere) continue;
    const bool fixed = std::holds_alternative<plan::FixedLevels>(plan.factors[factor].levels);
    auto reason =
        fixed ? identical_levels(plan, factor, groups) : identical_values(plan, factor, groups);
    if (reason) return reason;
  }
  return std::nullopt;
}

bool are_identical(std::span<const Binary> binaries, std::uint32_t benchmark, std::size_t factor,
                   const std::string& first, const std::string& second) {
  return likeness(groups_along(binaries, benchmark, factor), factor, first, second) ==
         Likeness::identical;
}

}  // namespace stab::results
