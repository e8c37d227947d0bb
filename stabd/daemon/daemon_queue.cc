// SPDX-License-Identifier: MIT
// The requests of users about experiments that wait, run or have ended.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "counters/events/counting.h"
#include "counters/profiles/sampler.h"
#include "plan/reading/reader.h"
#include "protocol/lines.h"
#include "protocol/messages.h"
#include "results/document.h"
#include "stabd/daemon/daemon.h"
#include "stabd/daemon/reading.h"
#include "store/summaries.h"

namespace stab::daemon {
namespace {

std::string not_there(store::Id id) {
  return fmt::format(
      "experiment {0} is neither waiting nor running: 'stabctl status {0}' shows why", id);
}

}  // namespace

void Daemon::load_queue() {
  const auto all = store_->summaries();
  if (!all) {
    spdlog::error("the queue cannot be read: {}", all.error().message);
    return;
  }
  for (const auto& [id, damage] : (*all)->damaged())
    spdlog::error("experiment {} is refused: {}", id, damage.problem);
  const std::int64_t now = wall_clock_ns();
  for (const auto& [id, summary] : (*all)->intact()) {
    const store::Experiment& experiment = summary.experiment;
    // If the clock was ahead when the experiment began, its user must not stay behind all others.
    queue_.had_turn(accounts_.of(experiment.uid), std::min(experiment.started_ns, now));
    const auto state = state_from(experiment.state);
    if (experiment.state == store::being_retried) retries_.load(id);
    if (!state || is_final(*state)) continue;
    Waiting waiting = waiting_from(experiment, accounts_.of(experiment.uid));
    waiting.plan_bytes = summary.plan_bytes;
    queue_.add(waiting);
  }
  const auto paused = store_->is_queue_paused();
  if (!paused)
    spdlog::error("cannot read whether the queue was paused, so the queue continues: {}",
                  paused.error().message);
  queue_.hold(paused.value_or(false));
}

Result<void> Daemon::has_room(std::uint32_t uid, std::size_t plan_bytes) const {
  if (auto room = queue_.has_room(accounts_.of(uid), plan_bytes); !room) return room;
  return may_store(uid, plan_bytes);
}

// The store's sum for one user includes experiments that are still being removed; the summaries
// leave them out. So the larger number counts.
std::uint64_t Daemon::bytes_of_account(std::uint32_t uid) const {
  const auto all = store_->summaries();
  if (!all) return store_->bytes_of_user(uid);
  const std::uint32_t account = accounts_.of(uid);
  std::uint64_t bytes = 0;
  for (const auto& [id, row] : (*all)->intact())
    if (accounts_.of(row.experiment.uid) == account) bytes += store_->bytes_of_experiment(id);
  return std::max(bytes, store_->bytes_of_user(uid));
}

Result<void> Daemon::may_store(std::uint32_t uid, std::uint64_t more) const {
  if (queue_.is_trusted(uid)) return {};
  const std::uint64_t bytes = bytes_of_account(uid) + more;
  const std::uint64_t most = options_.limits.stored_bytes_of_user;
  if (bytes <= most) return {};
  return fail(fmt::format(
      "the experiments of user {} take {} in the database, but limits.stored_bytes_of_user allows "
      "{}: remove some with 'stabctl rm' ('stabctl list' shows their sizes)",
      uid, about_bytes(bytes), format_bytes(most)));
}

void Daemon::read_submission(Connection& client, const std::string& line) {
  const Peer& peer = client.peer();
  const auto words = [](const Result<void>& may) { return may ? "" : may.error().message; };
  const protocol::ReadRequest request{.reading = protocol::Reading::plan,
                                      .uid = peer.uid,
                                      .gid = peer.gid,
                                      .turn = turn_.longest_of(peer.uid),
                                      .goes_first = queue_.is_trusted(peer.uid),
                                      .may_not_quiesce = words(may_quiesce(peer.uid, false)),
                                      .may_not_move = words(may_quiesce(peer.uid, true))};
  const auto ticket =
      readers_->ask_of_plan(accounts_.of(peer.uid), protocol::encode(request) + "\n" + line,
                            [this, &client](const Result<Fd>& answer) {
                              submitted(client, answer);
                              after_session_step();
                            });
  client.await_answer([this, ticket] { readers_->forget(ticket); });
}

void Daemon::submitted(Connection& client, const Result<Fd>& answer) {
  const auto id = take_submission(client.peer(), answer);
  client.answer(id ? protocol::encode(protocol::SubmitReply{.id = *id})
                   : protocol::encode_refusal(id.error().message));
}

// The plan may have taken over its reader, so the answer never gives its user any rights.
// Everything that matters is read again when the experiment begins.
Result<store::Id> Daemon::take_submission(const Peer& peer, const Result<Fd>& answer) {
  if (!answer) return std::unexpected(answer.error());
  auto text = text_in(*answer, protocol::most_decoded + 1 + plan::max_plan_bytes + 1);
  if (!text) return std::unexpected(text.error());
  const std::size_t end = std::min(text->find('\n'), text->size());
  if (end > protocol::most_decoded)
    return fail("the facts that were read from the plan are too long");
  const auto plan =
      protocol::decode_reply<protocol::PlanReply>(std::string_view(*text).substr(0, end));
  if (!plan) return std::unexpected(plan.error());
  for (const auto& [key, names] :
       {std::pair("counters", &plan->counters), {"rotate", &plan->rotated}})
    if (const auto groups = counters::find_groups(*names); !groups)
      return fail(fmt::format("'measure.{}': {}", key, groups.error().message));
  if (!plan->profile.empty())
    if (const auto event = counters::find_sampled(plan->profile); !event)
      return fail("'measure.profile': " + event.error().message);
  text->erase(0, std::min(end + 1, text->size()));
  if (text->empty() || one_line(plan->name, plan->name.size()) != plan->name)
    return fail("the plan was not read completely");
  const std::string source = results::source_text({.branch = plan->branch, .commit = plan->commit});
  if (!plan->commit.empty() && source.empty())
    return fail("the branch and the commit that were sent with the plan are not valid git names");
  if (auto room = has_room(peer.uid, text->size()); !room) return std::unexpected(room.error());
  return submit({.name = plan->name,
                 .plan = std::move(*text),
                 .directory = plan->directory,
                 .uid = peer.uid,
                 .gid = peer.gid,
                 .state = "queued",
                 .submitted_ns = wall_clock_ns(),
                 .trials = plan->trials,
                 .priority = plan->priority},
                source);
}

Result<store::Id> Daemon::submit(const store::Experiment& experiment, const std::string& source) {
  auto row = experiment;
  const auto id = store_->add_experiment(row);
  if (!id) return fail("the experiment cannot be stored: " + id.error().message);
  row.id = *id;
  // If the source can't be stored, the experiment is still worth having.
  if (!source.empty())
    if (const auto added = store_->add_event({.experiment = *id,
                                              .at_ns = row.submitted_ns,
                                              .kind = std::string(results::source_event),
                                              .text = source});
        !added)
      spdlog::warn("experiment {}: {}", *id, added.error().message);
  queue_.add(waiting_from(row, accounts_.of(row.uid)));
  run_next();
  return *id;
}

// Changes the row of a waiting experiment.
Result<void> Daemon::change_waiting(store::Id id, Event event,
                                    const std::function<void(store::Experiment&)>& change) {
  auto found = store_->experiment(id);
  if (!found) return fail(found.error().message);
  if (queue_.find(id) == nullptr || !*found) return fail(not_there(id));
  store::Experiment& row = **found;
  const State from = state_from(row.state).value_or(State::queued);
  // A killed daemon may have left any state in the row, but nothing is under way while the
  // experiment waits.
  auto to = next(from, event);
  if (!to && event == Event::hold) to = next(State::queued, event);
  if (!to) return fail(not_there(id));
  row.state = to_string(*to);
  row.stopped_by.reset();
  change(row);
  if (auto saved = store_->update_experiment(row); !saved) return fail(saved.error().message);
  queue_.remove(id);
  if (!is_final(*to)) queue_.add(waiting_from(row, accounts_.of(row.uid)));
  return {};
}

Result<void> Daemon::cancel(store::Id id) {
  if (session_ && session_->experiment().id == id) {
    session_->cancel();
    return {};
  }
  store::Experiment cancelled;
  auto changed = change_waiting(id, Event::cancel, [&cancelled](store::Experiment& row) {
    row.reason = row.started_ns == 0 ? "cancelled by the user before it began"
                                     : "cancelled by the user; its trials so far are kept";
    forget_holder(row);
    row.ended_ns = wall_clock_ns();
    cancelled = row;
  });
  if (!changed) return changed;
  const auto plan = plan::read_plan(cancelled.plan);
  notices_.tell(cancelled, plan ? &*plan : nullptr, cancelled.state, cancelled.reason,
                std::nullopt);
  return {};
}

Result<void> Daemon::hold(store::Id id, std::uint32_t uid) {
  if (session_ && session_->experiment().id == id) return session_->hold(uid);
  return change_waiting(id, Event::hold, [uid](store::Experiment& row) {
    // If root holds the experiment, another user who pauses it does not become its holder.
    if (row.held_by != 0) row.held_by = uid;
    row.reason = held_reason(*row.held_by);
  });
}

Result<void> Daemon::let_go(store::Id id, std::uint32_t uid) {
  if (session_ && session_->experiment().id == id)
    return fail(
        session_->experiment().held_by
            ? fmt::format("experiment {} is still being paused: try again in a moment", id)
            : fmt::format("experiment {0} is not paused: 'stabctl status {0}' shows its state",
                          id));
  const auto found = store_->experiment(id);
  if (!found) return fail(found.error().message);
  if (!*found) return fail(not_there(id));
  const Waiting* waiting = queue_.find(id);
  if (waiting == nullptr || !waiting->held)
    return fail(
        fmt::format("experiment {0} is not paused: 'stabctl status {0}' shows its state", id));
  const std::uint32_t holder = (*found)->held_by.value_or(uid);
  if (!queue_.is_trusted(uid) && holder != uid)
    return fail(fmt::format(
        "experiment {} was paused by user {}: only that user or root can resume it", id, holder));
  auto changed = change_waiting(id, Event::let_go, [](store::Experiment& row) {
    row.held_by.reset();
    row.reason.clear();
  });
  if (changed) run_next();
  return changed;
}

Result<void> Daemon::may_be_removed(const store::Experiment& experiment) {
  if (retries_.is_retried(experiment.id))
    return fail(fmt::format("experiment {} is being retried", experiment.id));
  const auto state = state_from(experiment.state);
  const bool driven = session_ && session_->experiment().id == experiment.id;
  if (state && is_final(*state) && !driven) return {};
  return fail(has_not_ended(experiment.id));
}

Result<void> Daemon::retry(Connection& client, const store::Experiment& experiment) {
  const bool driven = session_ && session_->experiment().id == experiment.id;
  if (driven) return fail(has_not_ended(experiment.id));
  return retries_.begin(client, client.peer().uid, experiment);
}

Result<void> Daemon::remove(const store::Experiment& experiment, std::uint32_t uid) {
  auto begun = maintenance_.remove(experiment, fmt::format("by user {}", uid));
  if (!begun) return fail(begun.error().message);
  spdlog::info("user {} removes experiment {} ({}) of user {}", uid, experiment.id,
               one_line(experiment.name, 100), experiment.uid);
  return {};
}

Result<void> Daemon::hold_queue(bool held, std::uint32_t uid) {
  if (!queue_.is_trusted(uid))
    return fail(
        "only root and stabd's own user may pause or resume the whole queue: give the numbers of "
        "experiments instead");
  const auto stored = store_->pause_queue(
      held, {.at_ns = wall_clock_ns(),
             .kind = "queue",
             .text = fmt::format("{} by user {}", held ? "paused" : "resumed", uid)});
  if (!stored) return fail(stored.error().message);
  queue_.hold(held);
  run_next();
  return {};
}

}  // namespace stab::daemon
