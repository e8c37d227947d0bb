// SPDX-License-Identifier: MIT
#include "stabd/daemon/progress.h"

#include "stabd/daemon/daemon.h"
#include "store/summaries/summaries.h"

namespace stab::daemon {
namespace {

constexpr std::uint64_t progress_ms = 100;

bool is_active(const uv_timer_t& timer) {
  return uv_is_active(reinterpret_cast<const uv_handle_t*>(&timer)) != 0;
}

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
          .held_by = experiment.held_by,
          .stopped_by = experiment.stopped_by,
          .trial_cpus = experiment.trial_cpus};
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

store::Experiment Daemon::shown(store::Experiment row) const {
  if (session_ && session_->experiment().id == row.id) return session_->shown();
  if (row.state == store::being_retried) row.state = to_string(State::queued);
  const auto state = state_from(row.state);
  if (state && !is_final(*state) && !store_->refusal().empty()) row.reason = store_->refusal();
  return row;
}

void Daemon::publish_soon() {
  if (!is_active(progress_))
    uv_timer_start(
        &progress_,
        [](uv_timer_t* handle) { static_cast<Daemon*>(handle->data)->publish_progress(); }, 0,
        progress_ms);
}

void Daemon::publish_progress() {
  const auto all = store_->summaries();
  clients_.for_each_watcher([&](Connection& client) {
    if (client.awaits_answer()) return;
    const bool current = session_ && session_->experiment().id == client.watched;
    if (!current && !store_->refusal().empty()) {
      // The experiment can't continue, so the end that the client waits for would never come.
      client.send(protocol::encode_refusal(store_->refusal()));
      client.watched = 0;
      return;
    }
    const store::Summary* const watched = all ? (*all)->find(client.watched) : nullptr;
    const auto row = shown(watched == nullptr ? store::Experiment() : watched->experiment);
    client.send(protocol::encode(progress_of(row, current ? session_.get() : nullptr)));
    const auto state = state_from(row.state);
    if (!state || is_final(*state)) client.watched = 0;
  });
  if (!clients_.anyone_watches()) uv_timer_stop(&progress_);
}

}  // namespace stab::daemon
