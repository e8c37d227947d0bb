// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "plan/expand.h"
#include "plan/substitute.h"

namespace stab::plan {
namespace {

// A section for each function and object, so that there is something to shuffle; each kind by
// itself, as the linker keeps kinds apart. Quoted, as the text becomes part of a shell command.
std::string link_flags(std::uint64_t seed) {
  std::string flags = " -ffunction-sections -fdata-sections -fuse-ld=lld";
  for (const char* section : {".text", ".rodata", ".data", ".bss"})
    flags += fmt::format(" -Wl,--shuffle-sections='{}*={}'", section, seed);
  return flags;
}

// The plan's variables as this trial sees them.
Variables variables_of(const Plan& plan, const Trial& trial) {
  Variables variables = plan.variables;
  std::string added;
  for (std::size_t i = 0; i < plan.factors.size(); ++i) {
    const Factor& factor = plan.factors[i];
    if (factor.kind == FactorKind::link_order) added = link_flags(trial.levels[i].number);
    if (factor.kind != FactorKind::user) continue;
    const auto& levels = std::get<FixedLevels>(factor.levels).levels;
    const auto level = std::ranges::find(levels, trial.levels[i].name, &Level::name);
    for (const auto& [name, value] : level->variables) variables[name] = value;
  }
  variables["LDFLAGS"] += added;
  return variables;
}

}  // namespace

Task resolve(const Plan& plan, const Trial& trial) {
  const Benchmark& benchmark = plan.benchmarks[trial.benchmark];
  const Variables variables = variables_of(plan, trial);
  Task task;
  if (benchmark.build) task.build = fill(*benchmark.build, variables);
  for (const std::string& word : benchmark.run) task.run.push_back(fill(word, variables));
  for (const auto& [name, value] : benchmark.env) task.env[name] = fill(value, variables);
  if (benchmark.stdin_file) task.stdin_file = fill(*benchmark.stdin_file, variables);
  task.aslr = plan.aslr;
  for (std::size_t i = 0; i < plan.factors.size(); ++i) {
    if (plan.factors[i].kind == FactorKind::aslr) task.aslr = trial.levels[i].number != 0;
    if (plan.factors[i].kind == FactorKind::env_bytes) task.env_bytes = trial.levels[i].number;
  }
  return task;
}

bool acts_on_build(const Plan& /*plan*/, const Benchmark& benchmark, const Factor& factor) {
  if (!benchmark.build) return false;
  const std::vector<std::string> names = names_in(*benchmark.build);
  const auto is_used = [&](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (factor.kind == FactorKind::link_order) return is_used("LDFLAGS");
  if (factor.kind != FactorKind::user) return false;
  const auto& levels = std::get<FixedLevels>(factor.levels).levels;
  return std::ranges::any_of(levels.front().variables,
                             [&](const auto& variable) { return is_used(variable.first); });
}

}  // namespace stab::plan
