// SPDX-License-Identifier: MIT
#include "stabd/daemon/maintenance.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "base/text.h"
#include "protocol/messages.h"

namespace stab::daemon {

Leavings::Leavings(Clock& clock) : timer_(clock.timer([this] { free_some(); })) {}

void Leavings::add(Fd file) {
  constexpr std::chrono::milliseconds next_piece{1};
  files_.push_back(std::move(file));
  if (files_.size() == 1) timer_->start(next_piece, next_piece);
}

void Leavings::free_some() {
  if (!files_.empty() && !archive::Spool::shrink(files_.front())) files_.pop_front();
  if (files_.empty()) timer_->stop();
}

Result<void> Imports::begin(Asker& client, const archive::Receiver& receiver,
                            std::shared_ptr<archive::Spool>& spool, MayStore may_store) {
  auto intake = archive::Intake::open(spool->parts(), receiver);
  if (!intake) return fail(intake.error().message);
  imports_.add(accounts_.of(receiver.uid), {.client = &client,
                                            .uid = receiver.uid,
                                            .spool = &spool,
                                            .may_store = std::move(may_store),
                                            .intake = std::move(*intake)});
  return {};
}

void Imports::give_up(const Asker& client) {
  const auto is_it = [&client](const Import& each) { return each.client == &client; };
  const Import* const import = imports_.find(is_it);
  if (import != nullptr && import->intake.id() != 0)
    upkeep_.give_up(import->intake.id(), import->uid);
  imports_.remove_if(is_it);
}

store::Outcome<void> Imports::go_on() {
  Import& import = imports_.front();
  const auto more = import.intake.step(store_, import.may_store);
  if (!more && more.error().temporary) {
    imports_.pass();  // other imports may still succeed
    return std::unexpected(more.error());
  }
  Asker& client = *import.client;
  std::shared_ptr<archive::Spool>& spool = *import.spool;
  const std::uint32_t uid = import.uid;
  const store::Id id = import.intake.id();
  const std::string name = one_line(import.intake.name(), 100);
  imports_.pass();
  if (more && *more) return {};
  std::string answer;
  if (more) {
    spdlog::info("user {} imported experiment {} ({})", uid, id, name);
    imports_.remove_if([&client](const Import& each) { return each.client == &client; });
    answer = protocol::encode(protocol::ImportReply{.id = id});
  } else {
    give_up(client);
    answer = protocol::encode_refusal(more.error().message);
  }
  spool.reset();
  client.answer(std::move(answer));
  return {};
}

namespace {

using std::chrono::milliseconds;

constexpr milliseconds look_for_old_every = std::chrono::hours(1);
// After this time an import goes on beside the trial that it waits for: its client is to be
// answered within 10 s.
constexpr milliseconds import_waits{4'000};
constexpr milliseconds maintenance_after_trouble{2000};

}  // namespace

Maintenance::Maintenance(Clock& clock, store::Store& store, const Accounts& accounts,
                         const settings::Retention& retention, std::function<void()> changed)
    : clock_(clock),
      retention_(retention),
      changed_(std::move(changed)),
      upkeep_(store, [&accounts](std::uint32_t uid) { return accounts.of(uid); }),
      imports_(store, upkeep_, accounts),
      work_timer_(clock.timer([this] { keep_up(); })),
      import_timer_(clock.timer([this] {
        import_beside_ = true;
        allow();
      })),
      old_timer_(clock.timer([this] {
        look_for_old();
        allow();
      })) {}

void Maintenance::start() {
  if (auto loaded = upkeep_.load(); !loaded)
    spdlog::error("cannot find the removals that an earlier stabd left unfinished: {}",
                  loaded.error().message);
  look_for_old();
  allow();
}

void Maintenance::use_retention(const settings::Retention& retention) {
  retention_ = retention;
  old_timer_->stop();
  look_for_old();
  allow();
}

void Maintenance::look_for_old() {
  // Without a limit nothing is written, so that a damaged database stays as it was found.
  if (retention_.output_days == 0 && retention_.experiments_days == 0) return upkeep_.keep_old();
  if (const auto looked = upkeep_.look(retention_, clock_.clocks()); !looked)
    spdlog::error("cannot look for old experiments: {}", looked.error().message);
  old_timer_->start(look_for_old_every);
}

store::Outcome<void> Maintenance::remove(const store::Experiment& experiment,
                                         std::string_view how) {
  auto begun = upkeep_.remove(experiment, how);
  if (begun) allow();
  return begun;
}

Result<void> Maintenance::import(Asker& client, const archive::Receiver& receiver,
                                 std::shared_ptr<archive::Spool>& spool,
                                 Imports::MayStore may_store) {
  if (auto begun = imports_.begin(client, receiver, spool, std::move(may_store)); !begun)
    return begun;
  client.await_answer([this, &client] {
    imports_.give_up(client);
    allow();
  });
  allow();
  return {};
}

void Maintenance::trials_run(bool run) {
  trials_run_ = run;
  allow();
}

bool Maintenance::has_work() const {
  return upkeep_.has_work() || upkeep_.is_in_log() || !imports_.empty();
}

void Maintenance::allow() {
  // A client waits for its import, so after import_waits the import goes on beside trials.
  if (imports_.empty() || !trials_run_ || stopped_) {
    import_timer_->stop();
    import_beside_ = false;
  } else if (!import_beside_ && !import_timer_->runs()) {
    import_timer_->start_from_now(import_waits);
  }
  changed_();
  if (!has_work() || (trials_run_ && !import_beside_) || stopped_) {
    work_timer_->stop();
  } else if (!work_timer_->runs()) {
    const milliseconds now = clock_.turn_began();
    work_timer_->start(not_before_ > now ? not_before_ - now : milliseconds(1));
  }
}

void Maintenance::keep_up() {
  if (!has_work() || clock_.turn_began() < not_before_) return;
  const bool work = !imports_.empty() || upkeep_.has_work();
  // Imports and removals take turns.
  import_was_last_ = !imports_.empty() && !(import_was_last_ && upkeep_.has_work());
  const auto done = import_was_last_     ? imports_.go_on()
                    : upkeep_.has_work() ? upkeep_.step()
                                         : upkeep_.empty_log();
  for (const std::string& text : upkeep_.news()) spdlog::info("retention: {}", text);
  if (!done || !work) not_before_ = clock_.turn_began() + maintenance_after_trouble;
  if (!done) spdlog::error("imports and removals wait: {}", done.error().message);
  allow();
}

}  // namespace stab::daemon
