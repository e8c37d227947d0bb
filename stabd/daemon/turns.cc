// SPDX-License-Identifier: MIT
// Limits the time for which one user's experiment has the machine while others wait (limits.turn).
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/duration.h"
#include "results/run_request.h"
#include "stabd/daemon/daemon.h"

namespace stab::daemon {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

std::uint64_t ms_of(nanoseconds time) {
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}

}  // namespace

Result<void> Daemon::fits_a_turn(std::uint32_t uid, const plan::Plan& plan) const {
  return results::fits_a_turn(plan, turn_of(uid));
}

// The longest turn of this user; 0 means no limit.
nanoseconds Daemon::turn_of(std::uint32_t uid) const {
  return queue_.is_trusted(uid) ? nanoseconds(0) : options_.limits.turn;
}

std::optional<BlockId> Daemon::abandoned_block(store::Id id) const {
  const auto found = abandoned_blocks_.find(id);
  return found == abandoned_blocks_.end() ? std::nullopt : std::optional(found->second);
}

void Daemon::begin_turn() {
  charged_ = steady_clock::now();
  turn_ = nanoseconds(0);
}

void Daemon::charge_turn() {
  const auto now = steady_clock::now();
  const nanoseconds since = now - std::exchange(charged_, now);
  turn_ += since;
  queue_.charge(since);
}

void Daemon::end_turn(const store::Experiment& experiment) {
  charge_turn();
  queue_.end_turn();
  uv_timer_stop(&turn_timer_);
  const auto block = session_->abandoned_block();
  if (block && !is_final(session_->state()))
    abandoned_blocks_[experiment.id] = *block;
  else
    abandoned_blocks_.erase(experiment.id);
}

bool Daemon::turn_is_over() {
  charge_turn();
  return options_.limits.turn.count() > 0 && turn_ >= options_.limits.turn && !queue_held_ &&
         queue_.another_user_is_next();
}

// Called whenever another user may have begun to wait. A user who comes late in a long turn still
// waits for one turn at most.
void Daemon::watch_turn() {
  const nanoseconds turn = options_.limits.turn;
  if (!session_ || turn.count() == 0 || queue_.is_trusted(session_->experiment().uid) ||
      uv_is_active(reinterpret_cast<uv_handle_t*>(&turn_timer_)) != 0)
    return;
  charge_turn();
  if (!queue_.another_user_waits()) return;
  uv_update_time(loop_->get());
  uv_timer_start(
      &turn_timer_, [](uv_timer_t* timer) { static_cast<Daemon*>(timer->data)->cut_turn_short(); },
      ms_of(std::max(turn, 2 * turn - turn_)), 0);
}

void Daemon::cut_turn_short() {
  if (session_ && turn_is_over()) {
    spdlog::info("experiment {} has had the machine for {} and gives it up",
                 session_->experiment().id, format_duration(turn_));
    session_->give_way();
    after_session_step();
  }
  watch_turn();
}

}  // namespace stab::daemon
