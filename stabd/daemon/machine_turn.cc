// SPDX-License-Identifier: MIT
#include "stabd/daemon/machine_turn.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/time.h"

namespace stab::daemon {

using std::chrono::nanoseconds;

MachineTurn::MachineTurn(Clock& clock, Queue& queue, nanoseconds limit,
                         std::function<void()> cut_short)
    : clock_(clock),
      queue_(queue),
      limit_(limit),
      cut_short_(std::move(cut_short)),
      timer_(clock.timer([this] { ring(); })) {}

nanoseconds MachineTurn::longest_of(std::uint32_t uid) const {
  return queue_.is_trusted(uid) ? nanoseconds(0) : limit_;
}

std::optional<BlockId> MachineTurn::abandoned_block(store::Id id) const {
  const auto found = abandoned_blocks_.find(id);
  return found == abandoned_blocks_.end() ? std::nullopt : std::optional(found->second);
}

void MachineTurn::begin(store::Id id, std::uint32_t uid) {
  running_ = {.id = id, .uid = uid, .charged = clock_.now()};
}

void MachineTurn::charge() {
  const auto now = clock_.now();
  const nanoseconds since = now - std::exchange(running_->charged, now);
  running_->had += since;
  queue_.charge(since);
}

void MachineTurn::end(std::optional<BlockId> abandoned) {
  charge();
  queue_.end_turn();
  timer_->stop();
  if (abandoned)
    abandoned_blocks_[running_->id] = *abandoned;
  else
    abandoned_blocks_.erase(running_->id);
  running_.reset();
}

bool MachineTurn::is_over() {
  charge();
  return limit_.count() > 0 && running_->had >= limit_ && queue_.another_user_is_next();
}

void MachineTurn::watch() {
  if (!running_ || longest_of(running_->uid).count() == 0 || timer_->runs()) return;
  charge();
  if (!queue_.another_user_waits()) return;
  timer_->start_from_now(
      std::chrono::ceil<std::chrono::milliseconds>(std::max(limit_, 2 * limit_ - running_->had)));
}

void MachineTurn::ring() {
  if (running_ && is_over()) {
    spdlog::info("experiment {} has used the machine for {} and now gives way to another user",
                 running_->id, format_duration(running_->had));
    cut_short_();
  }
  watch();
}

}  // namespace stab::daemon
