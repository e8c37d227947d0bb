// SPDX-License-Identifier: MIT
#include "stabd/daemon/session/builds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "design/resolve.h"
#include "plan/options.h"
#include "results/identical.h"

namespace stab::daemon {
Builds collect_builds(const plan::Plan& plan, const plan::Expansion& expansion) {
  Builds builds;
  if (std::ranges::none_of(plan.benchmarks,
                           [](const plan::Benchmark& each) { return each.build.has_value(); })) {
    builds.of_trial.assign(expansion.trials.size(), -1);
    return builds;
  }
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> known;
  for (const plan::Trial& trial : expansion.trials) {
    plan::Task task = plan::resolve(plan, trial);
    std::string& command = task.build;
    if (command.empty()) {
      builds.of_trial.push_back(-1);
      continue;
    }
    const auto [entry, fresh] = known.try_emplace({trial.benchmark, command}, builds.slots.size());
    if (fresh)
      builds.slots.push_back({.benchmark = trial.benchmark,
                              .command = std::move(command),
                              .revision = std::move(task.revision),
                              .levels = results::build_levels(plan, trial),
                              .key = "",
                              .out = "",
                              .directory = "",
                              .binary_sha256 = ""});
    builds.of_trial.push_back(static_cast<std::int64_t>(entry->second));
  }
  return builds;
}

std::optional<std::string> find_identical(const plan::Plan& plan, const Builds& builds) {
  std::vector<results::Binary> binaries;
  for (const BuildSlot& slot : builds.slots)
    if (slot.usable && !slot.binary_sha256.empty())
      binaries.push_back(
          {.benchmark = slot.benchmark, .levels = slot.levels, .sha256 = slot.binary_sha256});
  return results::find_identical(plan, binaries);
}

std::optional<std::string> find_in_place(const plan::Plan& plan, const plan::Expansion& expansion,
                                         const Builds& builds) {
  if (!plan::sets_options(plan) ||
      std::ranges::all_of(builds.slots, &std::string::empty, &BuildSlot::in_place))
    return std::nullopt;
  for (std::size_t i = 0; i < expansion.trials.size() && i < builds.of_trial.size(); ++i) {
    if (builds.of_trial[i] < 0) continue;
    const BuildSlot& slot = builds.slots[static_cast<std::size_t>(builds.of_trial[i])];
    const plan::Benchmark& benchmark = plan.benchmarks[slot.benchmark];
    if (!slot.usable || slot.in_place.empty() || benchmark.run.front() != "${OUT}") continue;
    if (plan::resolve(plan, expansion.trials[i]).needs == plan::Needs::nothing) continue;
    return fmt::format(
        "the plan asks for a random layout, but the program built for '{}' can't have one: {}; "
        "change the build, or take the random layout out of the plan",
        benchmark.name, slot.in_place);
  }
  return std::nullopt;
}

}  // namespace stab::daemon
