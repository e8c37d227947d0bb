// SPDX-License-Identifier: MIT
#include "stabd/daemon/session/builds.h"

#include <algorithm>
#include <map>
#include <utility>

#include "design/resolve.h"
#include "stabd/results/identical.h"

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

}  // namespace stab::daemon
