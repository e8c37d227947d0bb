// SPDX-License-Identifier: MIT
#include "results/run_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/random.h"
#include "design/resolve.h"
#include "design/trial_list.h"
#include "plan/measures/formula.h"
#include "plan/measures/names.h"
#include "plan/reading/read_plan.h"
#include "plan/texts.h"
#include "protocol/work.h"
#include "results/heap_layer.h"
#include "results/trials.h"
#include "toml/value.h"

namespace stab::results {
namespace {

using std::chrono::nanoseconds;

// Writes a duration as a plan does. Durations of a second or more are rounded down to whole
// seconds, so the text never exceeds the limit.
std::string in_plan(nanoseconds time) {
  using namespace std::chrono;
  if (time >= seconds(1)) time = floor<seconds>(time);
  for (const auto& [unit, name] : {std::pair<nanoseconds, const char*>(hours(1), "h"),
                                   {minutes(1), "min"},
                                   {seconds(1), "s"},
                                   {milliseconds(1), "ms"}})
    if (time % unit == nanoseconds(0)) return fmt::format("{}{}", time / unit, name);
  return fmt::format("{}ns", time.count());
}

// The number of commands in a trial; the plan's timeout applies to each of them.
int commands_of(const plan::Benchmark& benchmark) {
  return 1 + (benchmark.prepare ? 1 : 0) + (benchmark.check.command ? 1 : 0) +
         (benchmark.cleanup ? 1 : 0);
}

// The factor by which a trial may take longer than its benchmark's timeout.
int slowdown_of(const plan::Plan& plan) {
  return plan.simulated ? plan::simulator_slowdown : 1;
}

std::string from_directory(const std::string& directory, const std::string& path) {
  return path.empty() || path.starts_with('/') ? path : directory + "/" + path;
}

// Adds the measures that the benchmark has. A derived measure is added only if the benchmark has
// everything it is computed from, and if the block counts those events.
void add_measures(const plan::Plan& plan, const std::string& benchmark,
                  protocol::RunRequest& request) {
  std::vector<std::string> others;
  for (const plan::OutputMeasure& each : plan.outputs)
    if (each.benchmarks.empty() ||
        std::ranges::find(each.benchmarks, benchmark) != each.benchmarks.end())
      request.outputs.push_back(each);
    else
      others.push_back(each.name);
  for (const plan::DerivedMeasure& each : plan.derived) {
    if (request.set && !plan::BlocksWithNumber(plan, each.name).in_set(*request.set)) continue;
    if (std::ranges::none_of(plan::parts_of(plan, each.name), [&](const std::string& part) {
          return std::ranges::find(others, part) != others.end();
        }))
      request.derived.push_back(each);
  }
}

// In each pair of blocks of a cell, one runs at the plan's speedup and one at 0; the seed decides
// which.
std::optional<std::uint32_t> speedup_of(const plan::Plan& plan, const plan::Trial& trial) {
  if (!plan.causal.speedup) return std::nullopt;
  const std::uint64_t drawn =
      derive(plan.seed, "causal pair",
             {trial.warmup ? 1U : 0U, trial.block / 2, trial.benchmark, trial.cell});
  if ((trial.block % 2 == 1) == (drawn % 2 == 0)) return 0;
  return static_cast<std::uint32_t>(std::lround(1000 * *plan.causal.speedup));
}

protocol::CausalRequest causal_request(const plan::Plan& plan, const plan::Trial& trial,
                                       const plan::Task& task, const plan::Variables& late,
                                       const std::string& tree) {
  const plan::Causal& causal = plan.causal;
  protocol::CausalRequest request{.seed = derive(trial.seed, "causal run"),
                                  .scope = causal.scope,
                                  .binaries = causal.binaries,
                                  .progress = causal.progress,
                                  .line = causal.line,
                                  .experiment = causal.experiment,
                                  .sample_period = causal.sample_period,
                                  .arrival_speedup = task.arrival_speedup,
                                  .speedup = speedup_of(plan, trial),
                                  .end_to_end = causal.end_to_end,
                                  .tree = tree};
  for (std::string& pattern : request.binaries) pattern = plan::substitute(pattern, late);
  return request;
}

}  // namespace

protocol::RunRequest run_request(const plan::Plan& plan, const plan::Trial& trial,
                                 const std::string& directory, const BuiltPaths& built) {
  const plan::Benchmark& benchmark = plan.benchmarks[trial.benchmark];
  const plan::Task task = plan::resolve(plan, trial);
  plan::Variables late{{"SRC", directory}};
  if (!built.out.empty()) {
    late["OUT"] = built.out;
    late["DIR"] = built.tree;
  }
  const int slowdown = slowdown_of(plan);
  protocol::RunRequest request{
      .argv = task.run,
      .env = task.env,
      .env_bytes = task.env_bytes,
      .directory = directory,
      .stdin_path = from_directory(directory, plan::substitute(task.stdin_file.value_or(""), late)),
      .prepare = plan::substitute(task.prepare.value_or(""), late),
      .cleanup = plan::substitute(task.cleanup.value_or(""), late),
      .aslr = task.aslr,
      .timeout = benchmark.timeout * slowdown,
      .output_limit = benchmark.output_limit,
      .memory_limit = benchmark.memory_limit,
      .cpu_limit = benchmark.cpu_limit * slowdown,
      .process_limit = benchmark.process_limit,
      .file_limit = benchmark.file_limit,
      .check = benchmark.check,
      .options = task.options,
      .by_default = task.by_default,
      .needs = task.needs,
      .response = plan.analysis.response,
      .set = trial.set,
      .simulate = plan.simulated,
      .built = built.readings};
  if (plan.is_causal()) request.causal = causal_request(plan, trial, task, late, built.tree);
  add_measures(plan, benchmark.name, request);
  for (std::string& word : request.argv) word = plan::substitute(word, late);
  for (const std::string& word : task.beside)
    request.beside.push_back(plan::substitute(word, late));
  for (const auto& [name, value] : task.beside_env)
    request.beside_env[name] = plan::substitute(value, late);
  for (auto& [name, value] : request.env) value = plan::substitute(value, late);
  return request;
}

Result<void> fits_a_turn(const plan::Plan& plan, nanoseconds turn, bool is_new) {
  if (turn.count() == 0) return {};
  const auto refuse = [&](std::string what) {
    return fail(fmt::format(
        "{}. Alternatively, root can submit the plan as it is or raise limits.turn", what));
  };
  for (const plan::Benchmark& benchmark : plan.benchmarks) {
    const int commands = commands_of(benchmark);
    const int slowdown = is_new ? slowdown_of(plan) : 1;
    const nanoseconds timeout = slowdown * benchmark.timeout;
    if (commands * timeout > turn)
      return refuse(fmt::format(
          "a trial of '{}' may take {} ({}{}), but limits.turn is {}: set the "
          "benchmark's timeout to at most {}",
          benchmark.name, in_plan(commands * timeout),
          commands == 1
              ? "its timeout"
              : fmt::format("{} commands with a timeout of {} each", commands, in_plan(timeout)),
          slowdown == 1 ? ""
                        : fmt::format("; a simulated trial gets {} times the timeout "
                                      "that the plan sets",
                                      slowdown),
          in_plan(turn), in_plan(turn / (commands * slowdown))));
    if (benchmark.build && benchmark.build_timeout > turn)
      return refuse(fmt::format(
          "a build of '{}' may take {}, but limits.turn is {}: set the benchmark's build_timeout "
          "to at most {}",
          benchmark.name, in_plan(benchmark.build_timeout), in_plan(turn), in_plan(turn)));
  }
  if (plan.wait_for_quiet && plan.wait_for_quiet->most > turn)
    return refuse(
        fmt::format("a block may wait {} for a quiet machine, but limits.turn is {}: set "
                    "machine.wait_for_quiet to at most {}",
                    in_plan(plan.wait_for_quiet->most), in_plan(turn), in_plan(turn)));
  return {};
}

namespace {

Result<void> was_run(const store::Trial& trial) {
  if (trial.status != store::TrialStatus::skipped &&
      trial.status != store::TrialStatus::build_failed)
    return {};
  return fail(fmt::format("nothing was run for trial {} ({}): {}", trial.position,
                          store::to_string(trial.status), trial.reason));
}

// The digest of the trial's binary; "" if the trial has no build.
Result<std::string> digest_of_build(store::Reader& store, const store::Trial& trial) {
  if (trial.build.empty()) return "";
  const auto builds = store.builds(trial.experiment);
  if (!builds) return fail(builds.error().message);
  const auto build = std::ranges::find_if(*builds, [&](const store::Build& each) {
    return each.key == trial.build && each.benchmark == trial.benchmark;
  });
  if (build == builds->end())
    return fail(fmt::format("the database does not contain the build {} of trial {}", trial.build,
                            trial.position));
  return build->binary_sha256;
}

}  // namespace

Result<store::Trial> find_trial(store::Reader& store, const store::Experiment& experiment,
                                WhichTrial which) {
  std::optional<store::Trial> found;
  const auto read = for_each_trial(store, experiment, [&](const store::Trial& trial) {
    if (trial.position == which.position && trial.attempt == which.attempt.value_or(trial.attempt))
      found = trial;
    return trial.position <= which.position;
  });
  if (!read) return fail(read.error().message);
  if (found) return std::move(*found);
  return fail(which.attempt
                  ? fmt::format("there is no attempt {} at trial {} of experiment {}: 'stabctl "
                                "export {}' lists the attempts",
                                *which.attempt, which.position, experiment.id, experiment.id)
                  : fmt::format("trial {} of experiment {} has not been run: 'stabctl export {}' "
                                "lists the trials that have been run, with their positions",
                                which.position, experiment.id, experiment.id));
}

Result<protocol::ReplayReply> answer_replay(store::Reader& store,
                                            const store::Experiment& experiment,
                                            const std::string& cache, WhichTrial which) {
  const auto trial = find_trial(store, experiment, which);
  if (!trial) return std::unexpected(trial.error());
  if (auto run = was_run(*trial); !run) return std::unexpected(run.error());
  const auto digest = digest_of_build(store, *trial);
  if (!digest) return std::unexpected(digest.error());
  auto plan = plan::read_plan(experiment.plan);
  if (!plan) return fail(toml::describe(plan.error(), experiment.name));
  if (const auto known = recall_heap(experiment, *plan); !known) return fail(known.error().message);
  const plan::Expansion expansion = plan::expand(*plan);
  if (trial->position >= expansion.trials.size() ||
      expansion.trials[trial->position].seed != trial->seed)
    return fail(
        fmt::format("trial {} was run by another version of stabd. Use that version, because this "
                    "one derives different trials from the plan",
                    trial->position));
  BuiltPaths built;
  if (!trial->build.empty())
    built = {.out = protocol::build_output(cache, trial->build),
             .tree = protocol::build_tree(cache, trial->build)};
  return protocol::ReplayReply{
      .id = experiment.id,
      .position = trial->position,
      .attempt = trial->attempt,
      .block = trial->block,
      .warmup = trial->warmup,
      .benchmark = trial->benchmark,
      .levels = trial->levels,
      .seed = std::to_string(trial->seed),
      .uid = experiment.uid,
      .privileged = plan->privileges && experiment.uid == 0,
      .status = std::string(store::to_string(trial->status)),
      .wall_ns = trial->wall_ns,
      .stdout_sha256 = trial->stdout_sha256,
      .build = trial->build,
      .out = built.out,
      .binary_sha256 = *digest,
      .run = run_request(*plan, expansion.trials[trial->position], experiment.directory, built)};
}

}  // namespace stab::results
