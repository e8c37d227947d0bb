// SPDX-License-Identifier: MIT
#include "stabd/daemon/builds.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

namespace stab::daemon {
namespace {

std::vector<std::string> acting_levels(const plan::Plan& plan, const plan::Trial& trial) {
  std::vector<std::string> levels;
  const plan::Benchmark& benchmark = plan.benchmarks[trial.benchmark];
  for (std::size_t i = 0; i < plan.factors.size(); ++i)
    levels.push_back(plan::acts_on_build(plan, benchmark, plan.factors[i]) ? trial.levels[i].name
                                                                           : "");
  return levels;
}

// The builds that differ in one factor only, by all that they share.
using Groups =
    std::map<std::pair<std::uint32_t, std::vector<std::string>>, std::vector<const BuildSlot*>>;

Groups groups_along(const Builds& builds, std::size_t factor) {
  Groups groups;
  for (const BuildSlot& slot : builds.slots) {
    if (!slot.usable || slot.binary_sha256.empty() || slot.levels[factor].empty()) continue;
    auto shared = slot.levels;
    shared[factor].clear();
    groups[{slot.benchmark, shared}].push_back(&slot);
  }
  return groups;
}

std::string blame(const plan::Plan& plan, std::size_t factor, const BuildSlot& first,
                  const BuildSlot& second) {
  return fmt::format(
      "the binaries of '{}' at {} = {} and {} = {} are identical, so the factor would do nothing: "
      "change its "
      "levels, or use its variable where the build passes it on to the compiler",
      plan.benchmarks[first.benchmark].name, plan.factors[factor].name, first.levels[factor],
      plan.factors[factor].name, second.levels[factor]);
}

std::optional<std::string> identical_along(const plan::Plan& plan, const Builds& builds,
                                           std::size_t factor) {
  const bool fixed = std::holds_alternative<plan::FixedLevels>(plan.factors[factor].levels);
  for (const auto& [shared, slots] : groups_along(builds, factor)) {
    std::map<std::string, const BuildSlot*> binaries;
    std::set<std::string> values;
    for (const BuildSlot* slot : slots) {
      const auto [known, fresh] = binaries.try_emplace(slot->binary_sha256, slot);
      if (!fresh && fixed) return blame(plan, factor, *known->second, *slot);
      values.insert(slot->levels[factor]);
    }
    // A small program has few orders, so two seeds may well agree; all of them may not.
    if (!fixed && values.size() > 1 && binaries.size() == 1)
      return blame(plan, factor, *slots[0], *slots[1]);
  }
  return std::nullopt;
}

}  // namespace

Builds collect_builds(const plan::Plan& plan, const plan::Expansion& expansion) {
  Builds builds;
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> known;
  for (const plan::Trial& trial : expansion.trials) {
    std::string command = plan::resolve(plan, trial).build;
    if (command.empty()) {
      builds.of_trial.push_back(-1);
      continue;
    }
    const auto [entry, fresh] = known.try_emplace({trial.benchmark, command}, builds.slots.size());
    if (fresh)
      builds.slots.push_back({.benchmark = trial.benchmark,
                              .command = std::move(command),
                              .levels = acting_levels(plan, trial),
                              .key = "",
                              .out = "",
                              .directory = "",
                              .binary_sha256 = ""});
    builds.of_trial.push_back(static_cast<std::int64_t>(entry->second));
  }
  return builds;
}

std::optional<std::string> find_identical(const plan::Plan& plan, const Builds& builds) {
  for (std::size_t factor = 0; factor < plan.factors.size(); ++factor)
    if (auto reason = identical_along(plan, builds, factor)) return reason;
  return std::nullopt;
}

}  // namespace stab::daemon
