// SPDX-License-Identifier: MIT
#include "results/alike.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "design/resolve.h"
#include "plan/substitute.h"
#include "results/identical.h"

namespace stab::results {
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
    return trial.benchmark == benchmark && trial.levels[factor].name == level;
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
