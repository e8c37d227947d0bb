// SPDX-License-Identifier: MIT
#include "results/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "design/expand.h"
#include "plan/reading/reader.h"
#include "protocol/cache.h"
#include "results/run_request.h"
#include "results/trials.h"
#include "toml/problems.h"

namespace stab::results {
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
    return fail(fmt::format("the build {} of trial {} is not stored", trial.build, trial.position));
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
                                "lists the trials that were, with their positions",
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
  const auto plan = plan::read_plan(experiment.plan);
  if (!plan) return fail(toml::describe(plan.error(), experiment.name));
  const plan::Expansion expansion = plan::expand(*plan);
  if (trial->position >= expansion.trials.size() ||
      expansion.trials[trial->position].seed != trial->seed)
    return fail(
        fmt::format("this stabd would make different trials from the plan than the stabd that ran "
                    "trial {}: use that version",
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
