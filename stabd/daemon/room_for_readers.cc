// SPDX-License-Identifier: MIT
#include "stabd/daemon/room_for_readers.h"

#include <utility>

namespace stab::daemon {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_wait_for_readers{10'000};
// A client is to be answered within 10 s, so these two leave its reader some seconds.
constexpr milliseconds readers_wait_for_block{3'000};
constexpr milliseconds readers_wait_for_trial{4'000};

}  // namespace

RoomForReaders::RoomForReaders(Clock& clock, ClientsReaders& readers, std::function<void()> changed)
    : readers_(readers),
      changed_(std::move(changed)),
      between_timer_(clock.timer([this] { trials_go_on(); })),
      overdue_timer_(clock.timer([this] { wait_no_longer(); })) {}

void RoomForReaders::trials_run(bool run, bool quiet) {
  trials_run_ = run;
  quiet_ = quiet;
  allow();
}

void RoomForReaders::readers_changed() {
  if (!readers_.wanted()) trials_go_on();
  allow();
}

bool RoomForReaders::let_run(std::function<void()> go_on, bool within_block) {
  if (!disturb() || !readers_.wanted()) return false;
  if (within_block && waited_ == Waited::little) return false;
  go_on_ = std::move(go_on);
  allow();
  between_timer_->start(longest_wait_for_readers);
  return true;
}

void RoomForReaders::trials_go_on() {
  if (!go_on_) return;
  between_timer_->stop();
  const auto go_on = std::exchange(go_on_, nullptr);
  allow();
  go_on();
}

void RoomForReaders::allow() {
  const bool wait = trials_run_ && !go_on_ && disturb();
  if (!wait || !readers_.asked()) {
    overdue_timer_->stop();
    waited_ = Waited::little;
  } else if (waited_ == Waited::little && !overdue_timer_->runs()) {
    overdue_timer_->start_from_now(readers_wait_for_block, readers_wait_for_trial);
  }
  readers_.allow(!wait || waited_ == Waited::for_trials);
  changed_();
}

void RoomForReaders::wait_no_longer() {
  const bool for_block = waited_ == Waited::little;
  waited_ = for_block ? Waited::for_blocks : Waited::for_trials;
  if (!for_block) {
    overdue_timer_->stop();
    readers_.hurry();
  }
  allow();
}

}  // namespace stab::daemon
