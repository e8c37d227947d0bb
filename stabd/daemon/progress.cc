// SPDX-License-Identifier: MIT
#include "stabd/daemon/progress.h"

namespace stab::daemon {
namespace {

std::optional<std::int64_t> unless_0(std::int64_t ns) {
  return ns == 0 ? std::nullopt : std::optional(ns);
}

}  // namespace

protocol::Summary summary_of(const store::Experiment& experiment) {
  return {.id = experiment.id,
          .name = experiment.name,
          .state = experiment.state,
          .reason = experiment.reason,
          .directory = experiment.directory,
          .uid = experiment.uid,
          .trials = experiment.trials,
          .submitted_ns = experiment.submitted_ns,
          .started_ns = unless_0(experiment.started_ns),
          .ended_ns = unless_0(experiment.ended_ns),
          .duration_ns = experiment.duration_ns,
          .priority = experiment.priority,
          .held_by = experiment.held_by};
}

protocol::Progress progress_of(const store::Experiment& experiment, const Session* session) {
  const auto state = state_from(experiment.state);
  const bool ended = !state || is_final(*state);
  protocol::Progress line{
      .id = experiment.id, .state = experiment.state, .reason = experiment.reason, .final = ended};
  if (session == nullptr) return line;
  const Counts& counts = session->counts();
  const Session::Progress progress = session->progress();
  line.total = counts.total;
  line.done = counts.finished();
  line.ok = counts.ok;
  line.failed = counts.failed;
  line.skipped = counts.skipped;
  line.disturbed = counts.disturbed;
  line.builds = progress.builds;
  line.builds_done = progress.builds_done;
  line.builds_cached = progress.builds_cached;
  line.activity = progress.activity;
  line.fewest = progress.fewest;
  line.look = progress.look;
  line.changes = progress.changes;
  if (progress.left) line.left_ns = progress.left->count();
  return line;
}

}  // namespace stab::daemon
