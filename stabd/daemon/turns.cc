// SPDX-License-Identifier: MIT
// How long one user's experiment has the machine while others wait (limits.turn).
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/duration.h"
#include "stabd/daemon/daemon.h"

namespace stab::daemon {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

std::uint64_t ms_of(nanoseconds time) {
  return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}

// As a plan says it, and not more than it is.
std::string in_plan(nanoseconds time) {
  using namespace std::chrono;
  if (time >= seconds(1)) time = floor<seconds>(time);
  for (const auto& [unit, name] : {std::pair<nanoseconds, const char*>(hours(1), "h"),
                                   {minutes(1), "min"},
                                   {seconds(1), "s"},
                                   {milliseconds(1), "ms"}})
    if (time % unit == nanoseconds(0)) return fmt::format("{}{}", time / unit, name);
  return fmt::format("{}ns", time.count());
}

// The command of a trial and those around it have the plan's timeout each.
int commands_of(const plan::Benchmark& benchmark) {
  return 1 + (benchmark.prepare ? 1 : 0) + (benchmark.check.command ? 1 : 0) +
         (benchmark.cleanup ? 1 : 0);
}

}  // namespace

Result<void> Daemon::fits_a_turn(std::uint32_t uid, const plan::Plan& plan) const {
  const nanoseconds turn = options_.limits.turn;
  if (turn.count() == 0 || queue_.is_trusted(uid)) return {};
  const auto refuse = [&](std::string what) {
    return fail(fmt::format("{}, or have root submit the plan or raise limits.turn", what));
  };
  for (const plan::Benchmark& benchmark : plan.benchmarks) {
    const int commands = commands_of(benchmark);
    if (commands * benchmark.timeout > turn)
      return refuse(fmt::format(
          "a trial of '{}' may take {} ({}), and limits.turn is {}: set its timeout to {} at most",
          benchmark.name, in_plan(commands * benchmark.timeout),
          commands == 1 ? "its timeout"
                        : fmt::format("{} commands with a timeout of {} each", commands,
                                      in_plan(benchmark.timeout)),
          in_plan(turn), in_plan(turn / commands)));
    if (benchmark.build && benchmark.build_timeout > turn)
      return refuse(fmt::format(
          "a build of '{}' may take {}, and limits.turn is {}: set its build_timeout to {} at most",
          benchmark.name, in_plan(benchmark.build_timeout), in_plan(turn), in_plan(turn)));
  }
  if (plan.wait_for_quiet && plan.wait_for_quiet->most > turn)
    return refuse(
        fmt::format("a block may wait {} for a quiet machine, and limits.turn is {}: set "
                    "machine.wait_for_quiet to {} at most",
                    in_plan(plan.wait_for_quiet->most), in_plan(turn), in_plan(turn)));
  return {};
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

// Called whenever somebody may have begun to wait. Whoever comes late waits for one turn at most.
void Daemon::watch_turn() {
  const nanoseconds turn = options_.limits.turn;
  if (!session_ || turn.count() == 0 || queue_.is_trusted(session_->experiment().uid) ||
      uv_is_active(reinterpret_cast<uv_handle_t*>(&turn_timer_)) != 0)
    return;
  charge_turn();
  if (!queue_.another_user_waits()) return;
  uv_update_time(&loop_);
  uv_timer_start(
      &turn_timer_, [](uv_timer_t* timer) { static_cast<Daemon*>(timer->data)->cut_turn_short(); },
      ms_of(std::max(turn, 2 * turn - turn_)), 0);
}

void Daemon::cut_turn_short() {
  if (session_ && turn_is_over()) {
    spdlog::info("experiment {} has had the machine for {}: it gives it away",
                 session_->experiment().id, format_duration(turn_));
    session_->give_way();
    after_session_step();
  }
  watch_turn();
}

}  // namespace stab::daemon
