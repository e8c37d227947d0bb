// SPDX-License-Identifier: MIT
#include "design/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "design/trial_list.h"
#include "plan/options.h"
#include "plan/texts.h"

namespace stab::plan {
namespace {

// Every function and object gets its own section, so that there is something to shuffle. Each kind
// of section is shuffled separately, because the linker keeps the kinds apart. The patterns are
// quoted because the text becomes part of a shell command. In a program that was compiled with a
// profile, lld would order the hot functions by their calls, and shuffle only the others.
std::string order_flags(std::uint64_t seed, bool uses_szc) {
  if (uses_szc) return fmt::format(" --stab-link-order={}", seed);
  std::string flags = " -ffunction-sections -fdata-sections -fuse-ld=lld";
  for (const char* section : {".text", ".rodata", ".data", ".bss"})
    flags += fmt::format(" -Wl,--shuffle-sections='{}*={}'", section, seed);
  return flags + " -Wl,--no-call-graph-profile-sort";
}

// Whether a word of the command is a C or C++ compiler that is not szc.
bool names_other_compiler(std::string_view command) {
  constexpr std::string_view cuts = " \t\n'\"=;|&()`/";
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t begin = command.find_first_not_of(cuts, at);
    if (begin == std::string_view::npos) return false;
    at = std::min(command.find_first_of(cuts, begin), command.size());
    const std::string_view word = command.substr(begin, at - begin);
    // Skip the name of a language or of a folder.
    const std::string_view before = command.substr(0, begin);
    if (before.ends_with("-std=") || before.ends_with("-x ") || before.ends_with("-x")) continue;
    if (at < command.size() && command[at] == '/') continue;
    // The name may end with a version and start with a target.
    const std::string_view name = word.substr(0, word.find_last_not_of("0123456789.-") + 1);
    for (const std::string_view each : {"clang", "clang++", "gcc", "g++", "cc", "c++"})
      if (name == each || name.ends_with(std::string("-") + std::string(each))) return true;
  }
  return false;
}

// szc adds padding with any linker. Other compilers need a flag of lld, which it has since version
// 22.
std::string padding_flags(std::uint64_t seed, bool uses_szc, bool names_another) {
  if (uses_szc || !names_another) return fmt::format(" --stab-link-padding={}", seed);
  return fmt::format(" -ffunction-sections -fdata-sections -fuse-ld=lld -B{} {}={}",
                     padding_lld_folder, padding_lld_flag, seed);
}

// The flags that the link factors add to LDFLAGS.
std::string link_flags(const Plan& plan, const Trial& trial, bool uses_szc, bool names_another) {
  std::string flags;
  for (std::size_t i = 0; i < plan.factors.size(); ++i) {
    const FactorKind kind = plan.factors[i].kind;
    const std::uint64_t seed = trial.levels[i].number;
    if (kind == FactorKind::link_order) flags += order_flags(seed, uses_szc);
    if (kind == FactorKind::link_padding) flags += padding_flags(seed, uses_szc, names_another);
  }
  return flags;
}

// The plan's variables with the values for this trial.
Variables variables_of(const Plan& plan, const Trial& trial) {
  Variables variables = plan.variables;
  for (std::size_t i = 0; i < plan.factors.size(); ++i) {
    const Factor& factor = plan.factors[i];
    if (factor.kind != FactorKind::user) continue;
    const auto& levels = std::get<FixedLevels>(factor.levels).levels;
    const auto level = std::ranges::find(levels, trial.levels[i].name, &Level::name);
    for (const auto& [name, value] : level->variables) variables[name] = value;
  }
  const auto& build = plan.benchmarks[trial.benchmark].build;
  const std::string command = build ? fill(*build, variables) : "";
  variables["LDFLAGS"] +=
      link_flags(plan, trial, names_szc(command), names_other_compiler(command));
  return variables;
}

// The revision at the trial's level of the factor whose levels are revisions; "" without such a
// factor.
std::string revision_of(const Plan& plan, const Trial& trial) {
  for (std::size_t i = 0; i < plan.factors.size(); ++i) {
    const auto* fixed = std::get_if<FixedLevels>(&plan.factors[i].levels);
    if (fixed == nullptr || plan.factors[i].kind != FactorKind::user) continue;
    const auto level = std::ranges::find(fixed->levels, trial.levels[i].name, &Level::name);
    if (level != fixed->levels.end() && !level->revision.empty()) return level->revision;
  }
  return "";
}

std::string comment_on(const std::string& revision) {
  if (revision.empty()) return "";
  return fmt::format("# sources: {}\n", revision == working_tree ? "working-tree" : revision);
}

void set_options(const Plan& plan, const Trial& trial, Task& task) {
  if (trial.plain) {
    task.options = plain_options();
    task.options.try_emplace(seed_option, fmt::format("{}", trial.seed));
    return;
  }
  task.options = options_of(plan, trial.levels);
  // The number of layouts must not depend on the simulator's clock, because that would change the
  // counts.
  if (plan.simulated) task.options.insert_or_assign("rerandomize", "once");
  task.options.try_emplace(seed_option, fmt::format("{}", trial.seed));
  if (plan.pads_by_default && names_szc(task.build) &&
      task.options.try_emplace("stack", "1").second)
    task.by_default = {"stack"};
  const bool by_factor = std::ranges::any_of(
      plan.factors, [](const Factor& factor) { return factor.kind == FactorKind::option; });
  if (sets_options(plan) && randomizes(task.options))
    task.needs = Needs::randomized;
  else if (by_factor)
    task.needs = Needs::runtime;
  // A trial without the layer means what the plan says, too, so it needs no more than the options
  // above.
  if (!plan.benchmarks[trial.benchmark].has_layer || !task.options.try_emplace("heap", "1").second)
    return;
  task.options.insert_or_assign("allocator", "layer");
  for (const char* name : {"heap", "allocator"}) task.by_default.emplace_back(name);
}

// Does what a factor does to a trial, unless it changes the trial's variables, build or options.
// The compiler asks for a row for each kind.
void set_level(FactorKind kind, std::uint64_t number, Task& task) {
  switch (kind) {
    case FactorKind::aslr:
      task.aslr = number != 0;
      return;
    case FactorKind::env_bytes:
      task.env_bytes = number;
      return;
    case FactorKind::arrival_speedup:
      task.arrival_speedup = std::chrono::nanoseconds(number);
      return;
    case FactorKind::user:        // variables_of(), revision_of()
    case FactorKind::link_order:  // link_flags()
    case FactorKind::link_padding:
    case FactorKind::layout:  // plan::options_of()
    case FactorKind::option:
    case FactorKind::arm:
      return;
  }
}

}  // namespace

Task resolve(const Plan& plan, const Trial& trial) {
  const Benchmark& benchmark = plan.benchmarks[trial.benchmark];
  const Variables variables = variables_of(plan, trial);
  Task task;
  if (benchmark.build) {
    task.revision = revision_of(plan, trial);
    task.build = comment_on(task.revision) + fill(*benchmark.build, variables);
  }
  for (const std::string& word : benchmark.run) task.run.push_back(fill(word, variables));
  for (const auto& [name, value] : benchmark.env) task.env[name] = fill(value, variables);
  for (const std::string& word : benchmark.beside) task.beside.push_back(fill(word, variables));
  if (!task.beside.empty()) {
    std::vector<const Factor*> factors;
    for (const Factor& each : plan.factors) factors.push_back(&each);
    const std::set<std::string> changing = changing_names(plan.variables, factors);
    for (const auto& [name, value] : benchmark.env)
      if (std::ranges::none_of(names_in(value),
                               [&](const std::string& used) { return changing.contains(used); }))
        task.beside_env[name] = task.env[name];
  }
  if (benchmark.stdin_file) task.stdin_file = fill(*benchmark.stdin_file, variables);
  if (benchmark.prepare) task.prepare = fill(*benchmark.prepare, variables);
  if (benchmark.cleanup) task.cleanup = fill(*benchmark.cleanup, variables);
  task.aslr = plan.aslr;
  task.arrival_speedup = plan.causal.arrival_speedup;
  for (std::size_t i = 0; i < plan.factors.size(); ++i)
    set_level(plan.factors[i].kind, trial.levels[i].number, task);
  set_options(plan, trial, task);
  return task;
}

namespace {

bool uses_one_of(std::string_view text, const std::set<std::string>& names) {
  return std::ranges::any_of(names_in(text),
                             [&](const std::string& name) { return names.contains(name); });
}

std::set<std::string> variables_set_by(const Factor& factor) {
  if (factor.kind == FactorKind::link_order || factor.kind == FactorKind::link_padding)
    return {"LDFLAGS"};
  std::set<std::string> names;
  if (factor.kind != FactorKind::user) return names;
  for (const auto& [name, value] : std::get<FixedLevels>(factor.levels).levels.front().variables)
    names.insert(name);
  return names;
}

// Whether a text that says how the benchmark's trials run uses one of these variables.
bool runs_with_one_of(const Benchmark& benchmark, const std::set<std::string>& names) {
  const auto uses = [&](const std::string& text) { return uses_one_of(text, names); };
  for (const auto& text : {benchmark.stdin_file, benchmark.prepare, benchmark.cleanup})
    if (text && uses(*text)) return true;
  for (const auto& [name, value] : benchmark.env)
    if (uses(value)) return true;
  return std::ranges::any_of(benchmark.run, uses);
}

}  // namespace

bool acts_on_build(const Benchmark& benchmark, const Factor& factor) {
  if (!benchmark.build) return false;
  if (factor.kind == FactorKind::user &&
      !std::get<FixedLevels>(factor.levels).levels.front().revision.empty())
    return true;
  return uses_one_of(*benchmark.build, variables_set_by(factor));
}

bool acts_on_run(const Benchmark& benchmark, const Factor& factor) {
  return runs_with_one_of(benchmark, variables_set_by(factor));
}

bool uses_tree(const Plan& plan, const Benchmark& benchmark) {
  const std::set<std::string> tree{"DIR"};
  std::set<std::string> leading = tree;  // and the variables whose values use it
  const auto add = [&](const Variables& variables) {
    for (const auto& [name, value] : variables)
      if (uses_one_of(value, tree)) leading.insert(name);
  };
  add(plan.variables);
  for (const Factor& factor : plan.factors)
    if (const auto* fixed = std::get_if<FixedLevels>(&factor.levels))
      for (const Level& level : fixed->levels) add(level.variables);
  const auto is_in_tree = [&](const std::string& pattern) { return uses_one_of(pattern, tree); };
  return runs_with_one_of(benchmark, leading) ||
         std::ranges::any_of(plan.causal.binaries, is_in_tree);
}

bool names_szc(std::string_view command) {
  constexpr std::string_view cuts = " \t\n'\"=;|&()`/";
  for (std::size_t at = command.find("szc"); at != std::string_view::npos;
       at = command.find("szc", at + 1)) {
    if (at > 0 && !cuts.contains(command[at - 1])) continue;
    std::string_view rest = command.substr(at + 3);
    if (rest.starts_with("++")) rest.remove_prefix(2);
    if (rest.empty() || (rest[0] != '/' && rest[0] != '=' && cuts.contains(rest[0]))) return true;
  }
  return false;
}

}  // namespace stab::plan
