// SPDX-License-Identifier: MIT
#include "results/identical.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "design/resolve.h"
#include "plan/texts.h"

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
                                : fmt::format("of each built benchmark");
  return fmt::format(
      "the binaries {} are identical with {} = {} and with {} = {}, so the factor would have no "
      "effect: change its levels, or pass its variable to the compiler in the build command",
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
    levels.push_back(plan::acts_on_build(benchmark, plan.factors[i]) ? trial.levels[i].name : "");
  return levels;
}

std::optional<std::string> find_identical(const plan::Plan& plan,
                                          std::span<const Binary> binaries) {
  for (std::size_t factor = 0; factor < plan.factors.size(); ++factor) {
    std::vector<std::vector<Group>> groups;
    // Whether some trials may differ although their binaries are identical.
    bool elsewhere = false;
    for (std::uint32_t i = 0; i < plan.benchmarks.size(); ++i) {
      const plan::Benchmark& benchmark = plan.benchmarks[i];
      elsewhere = elsewhere || !plan::acts_on_build(benchmark, plan.factors[factor]) ||
                  plan::acts_on_run(benchmark, plan.factors[factor]) ||
                  plan::uses_tree(plan, benchmark);
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

namespace {

// Whether the trial would run in the same way at the other level. It would not if the treatment
// changes how the benchmark runs, or if trials read more of the build than its binary.
bool runs_alike(const plan::Plan& plan, const plan::Trial& trial, std::size_t factor,
                const plan::Level& other) {
  plan::Trial changed = trial;
  changed.levels[factor] = other;
  const plan::Task a = plan::resolve(plan, trial);
  const plan::Task b = plan::resolve(plan, changed);
  const auto uses_tree = [](const std::string& text) {
    const auto names = plan::names_in(text);
    return std::ranges::find(names, "DIR") != names.end();
  };
  const bool tree = std::ranges::any_of(a.run, uses_tree) ||
                    std::ranges::any_of(a.env, uses_tree, [](const auto& e) { return e.second; }) ||
                    (a.stdin_file && uses_tree(*a.stdin_file)) ||
                    (a.prepare && uses_tree(*a.prepare)) || (a.cleanup && uses_tree(*a.cleanup));
  return !tree && a.prepare == b.prepare && a.cleanup == b.cleanup && a.run == b.run &&
         a.env == b.env && a.stdin_file == b.stdin_file && a.aslr == b.aslr &&
         a.env_bytes == b.env_bytes && a.arrival_speedup == b.arrival_speedup &&
         a.options == b.options;
}

std::vector<Binary> stored_binaries(const plan::Plan& plan, const plan::Expansion& expansion,
                                    std::span<const store::Build> builds) {
  std::map<std::pair<std::string, std::string>, std::string> known;  // by benchmark and command
  for (const store::Build& build : builds)
    if (build.status != store::BuildStatus::failed && !build.binary_sha256.empty())
      known[{build.benchmark, build.command}] = build.binary_sha256;
  std::set<std::pair<std::uint32_t, std::vector<std::string>>> seen;
  std::vector<Binary> result;
  for (const plan::Trial& trial : expansion.trials) {
    auto levels = build_levels(plan, trial);
    if (!seen.insert({trial.benchmark, levels}).second) continue;
    const auto found =
        known.find({plan.benchmarks[trial.benchmark].name, plan::resolve(plan, trial).build});
    if (found != known.end())
      result.push_back({.benchmark = trial.benchmark, .levels = levels, .sha256 = found->second});
  }
  return result;
}

// The first trial of the benchmark at this level.
std::optional<plan::Trial> find_trial(const plan::Expansion& expansion, std::uint32_t benchmark,
                                      std::size_t factor, const std::string& level) {
  const auto found = std::ranges::find_if(expansion.trials, [&](const plan::Trial& trial) {
    return trial.benchmark == benchmark && !trial.plain && trial.levels[factor].name == level;
  });
  return found == expansion.trials.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::vector<stats::Alike> alike_levels(const plan::Plan& plan, const plan::Expansion& expansion,
                                       std::span<const store::Build> builds) {
  std::vector<stats::Alike> result;
  if (builds.empty()) return result;
  const std::vector<Binary> binaries = stored_binaries(plan, expansion, builds);
  for (const std::size_t factor : plan::treatments(plan)) {
    const auto& levels = std::get<plan::FixedLevels>(plan.factors[factor].levels).levels;
    for (std::uint32_t i = 0; i < plan.benchmarks.size(); ++i) {
      for (std::size_t a = 0; a < levels.size(); ++a)
        for (std::size_t b = a + 1; b < levels.size(); ++b) {
          if (!are_identical(binaries, i, factor, levels[a].name, levels[b].name)) continue;
          const auto trial = find_trial(expansion, i, factor, levels[a].name);
          if (trial && runs_alike(plan, *trial, factor, levels[b]))
            result.push_back({.subject = plan.benchmarks[i].name,
                              .treatment = plan.factors[factor].name,
                              .first = levels[a].name,
                              .second = levels[b].name});
        }
    }
  }
  return result;
}

}  // namespace stab::results
