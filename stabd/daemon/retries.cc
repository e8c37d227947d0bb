// SPDX-License-Identifier: MIT
#include "stabd/daemon/retries.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "protocol/messages.h"
#include "stabd/daemon/session/state.h"

namespace stab::daemon {
namespace {

constexpr std::chrono::milliseconds next_piece_of_retry{1};
constexpr std::chrono::milliseconds retry_after_trouble{2000};

}  // namespace

std::string has_not_ended(store::Id id) {
  return fmt::format("experiment {0} has not ended yet: end it with 'stabctl cancel {0}' first",
                     id);
}

Retries::Retries(Clock& clock, store::Store& store, Queue& queue, const Accounts& accounts,
                 std::function<void()> queued)
    : store_(store),
      queue_(queue),
      accounts_(accounts),
      queued_(std::move(queued)),
      timer_(clock.timer([this] { go_on(); })) {}

Retries::Retrying* Retries::find(store::Id id) {
  return retries_.find([id](const Retrying& each) { return each.retry.experiment().id == id; });
}

bool Retries::is_retried(store::Id id) {
  return find(id) != nullptr;
}

// Only one retry per account at a time: the queue's bounds do not count it until it waits there.
Result<void> Retries::may_begin(std::uint32_t uid, const store::Experiment& experiment) {
  const auto state = state_from(experiment.state);
  if (!state || !next(*state, Event::retry)) return fail(has_not_ended(experiment.id));
  if (is_retried(experiment.id))
    return fail(fmt::format("experiment {} is already being retried", experiment.id));
  if (queue_.is_trusted(uid)) return {};
  if (experiment.held_by)
    return fail(
        fmt::format("experiment {} was cancelled or failed after user {} had paused it: only root "
                    "can retry this experiment",
                    experiment.id, *experiment.held_by));
  const std::uint32_t account = accounts_.of(uid);
  if (retries_.find([account](const Retrying& each) { return each.account == account; }) != nullptr)
    return fail("another of your retries is still running: try again in a moment");
  return {};
}

Result<void> Retries::begin(Asker& client, std::uint32_t uid, const store::Experiment& experiment) {
  if (auto may = may_begin(uid, experiment); !may) return may;
  store::Experiment after = experiment;
  after.held_by.reset();
  after.stopped_by.reset();
  after.state = to_string(State::queued);
  after.reason.clear();
  after.ended_ns = 0;
  const bool anyway = experiment.state != to_string(State::done);
  const store::Id id = experiment.id;
  const std::uint32_t account = accounts_.of(uid);
  retries_.add(account, {.client = &client,
                         .account = account,
                         .retry = upkeep::Retry(experiment, std::move(after), anyway)});
  client.await_answer([this, id] {
    if (Retrying* const left = find(id)) left->client = nullptr;
  });
  start();
  return {};
}

void Retries::load(store::Id id) {
  auto row = store_.experiment(id);
  if (!row || !*row) return;  // verify_small_tables() has run before, and the damage is in the log
  (*row)->state = to_string(State::queued);
  retries_.add(accounts_.of((*row)->uid), {.retry = upkeep::Retry(std::move(**row))});
}

void Retries::start() {
  if (retries_.empty() || stopped_)
    timer_->stop();
  else if (!timer_->runs())
    timer_->start(next_piece_of_retry);
}

void Retries::stop() {
  stopped_ = true;
  timer_->stop();
}

void Retries::go_on() {
  if (retries_.empty() || stopped_) return;
  upkeep::Retry& retry = retries_.front().retry;
  const auto more = retry.step(store_);
  const store::Id id = retry.experiment().id;
  if (!more && more.error().temporary && retry.has_begun()) {
    spdlog::error("the retry of experiment {} waits: {}", id, more.error().message);
    if (Asker* const client = std::exchange(retries_.front().client, nullptr))
      client->answer(protocol::encode_refusal(
          fmt::format("the retry of experiment {} has begun, but its trials cannot be stored now. "
                      "stabd tries again until they can be stored. The error: {}",
                      id, more.error().message)));
    retries_.pass();
    timer_->start(retry_after_trouble);
    return;
  }
  if (!more || !*more) {
    const Retrying ended = retries_.front();
    retries_.remove_if([id](const Retrying& each) { return each.retry.experiment().id == id; });
    end(ended, more ? Result<void>() : fail(more.error().message));
  } else {
    retries_.pass();
  }
  start();
}

void Retries::end(const Retrying& ended, const Result<void>& done) {
  const store::Experiment& row = ended.retry.experiment();
  const bool goes_on = done && ended.retry.goes_on();
  if (goes_on) queue_.add(waiting_from(row, accounts_.of(row.uid)));
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
  if (goes_on) queued_();
}

}  // namespace stab::daemon
