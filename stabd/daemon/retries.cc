// SPDX-License-Identifier: MIT
// Retries of ended experiments whose trials did not all succeed. The daemon finds and opens those
// trials in pieces, also while other trials run. The client waits for its answer, and all other
// clients are answered between two pieces.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "protocol/messages.h"
#include "stabd/daemon/daemon.h"

namespace stab::daemon {
namespace {

constexpr std::uint64_t next_piece_ms = 1;
constexpr std::uint64_t after_trouble_ms = 2000;

}  // namespace

bool Daemon::is_retried(store::Id id) {
  return retries_.find([id](const Retrying& each) { return each.retry.experiment().id == id; }) !=
         nullptr;
}

// Only one retry per user at a time: the queue's bounds do not count it until it waits there.
Result<void> Daemon::may_retry(const store::Experiment& experiment, std::uint32_t uid) {
  const auto state = state_from(experiment.state);
  const bool driven = session_ && session_->experiment().id == experiment.id;
  if (!state || !next(*state, Event::retry) || driven)
    return fail(fmt::format(
        "experiment {0} has not ended yet: end it with 'stabctl cancel {0}' first", experiment.id));
  if (is_retried(experiment.id))
    return fail(fmt::format("experiment {} is already being retried", experiment.id));
  if (queue_.is_trusted(uid)) return {};
  if (experiment.held_by)
    return fail(
        fmt::format("experiment {} was paused by user {} before it ended: only root can resume it",
                    experiment.id, *experiment.held_by));
  if (retries_.find([uid](const Retrying& each) { return each.uid == uid; }) != nullptr)
    return fail("another of your retries is still running: try again in a moment");
  return {};
}

Result<void> Daemon::retry(Connection& client, const store::Experiment& experiment) {
  const std::uint32_t uid = client.peer().uid;
  if (auto may = may_retry(experiment, uid); !may) return may;
  store::Experiment after = experiment;
  after.held_by.reset();
  after.stopped_by.reset();
  after.state = to_string(State::queued);
  after.reason.clear();
  after.ended_ns = 0;
  const bool anyway = experiment.state != to_string(State::done);
  const store::Id id = experiment.id;
  retries_.add(uid, {.client = &client,
                     .uid = uid,
                     .retry = upkeep::Retry(experiment, std::move(after), anyway)});
  client.await_answer([this, id] {
    Retrying* const left =
        retries_.find([id](const Retrying& each) { return each.retry.experiment().id == id; });
    if (left != nullptr) left->client = nullptr;
  });
  allow_retries();
  return {};
}

// Continues a retry that an earlier daemon began.
void Daemon::load_retry(store::Id id) {
  auto row = store_->experiment(id);
  if (!row || !*row) return;  // verify_small_tables() has run before, and the damage is in the log
  (*row)->state = to_string(State::queued);
  retries_.add((*row)->uid, {.uid = no_user, .retry = upkeep::Retry(std::move(**row))});
}

void Daemon::allow_retries() {
  if (retries_.empty() || stopping_)
    uv_timer_stop(&retry_timer_);
  else if (uv_is_active(reinterpret_cast<uv_handle_t*>(&retry_timer_)) == 0)
    go_on_with_retries_in(next_piece_ms);
}

void Daemon::go_on_with_retries_in(std::uint64_t ms) {
  uv_timer_start(
      &retry_timer_,
      [](uv_timer_t* timer) { static_cast<Daemon*>(timer->data)->go_on_with_retries(); }, ms, 0);
}

void Daemon::go_on_with_retries() {
  if (retries_.empty() || stopping_) return;
  upkeep::Retry& retry = retries_.front().retry;
  const auto more = retry.step(*store_);
  const store::Id id = retry.experiment().id;
  if (!more && more.error().temporary && retry.has_begun()) {
    spdlog::error("the retry of experiment {} waits: {}", id, more.error().message);
    if (Connection* const client = std::exchange(retries_.front().client, nullptr))
      client->answer(protocol::encode_refusal(
          fmt::format("the retry of experiment {} has begun and continues by itself as soon as its "
                      "trials can be stored: {}",
                      id, more.error().message)));
    retries_.pass();
    return go_on_with_retries_in(after_trouble_ms);
  }
  if (!more || !*more) {
    const Retrying ended = retries_.front();
    retries_.remove_if([id](const Retrying& each) { return each.retry.experiment().id == id; });
    end_retry(ended, more ? Result<void>() : fail(more.error().message));
  } else {
    retries_.pass();
  }
  allow_retries();
}

void Daemon::end_retry(const Retrying& ended, const Result<void>& done) {
  const store::Experiment& row = ended.retry.experiment();
  const bool goes_on = done && ended.retry.goes_on();
  if (goes_on) queue_.add(waiting_from(row));
  if (!done) spdlog::error("experiment {} is not retried: {}", row.id, done.error().message);
  if (ended.client != nullptr) {
    std::string answer =
        !done ? protocol::encode_refusal(done.error().message)
        : goes_on
            ? protocol::encode(protocol::RetryReply{.id = row.id, .trials = ended.retry.open()})
            : protocol::encode_refusal(fmt::format(
                  "all trials of experiment {} succeeded: submit its plan to measure them again",
                  row.id));
    ended.client->answer(std::move(answer));
  }
  if (goes_on) run_next();
}

}  // namespace stab::daemon
