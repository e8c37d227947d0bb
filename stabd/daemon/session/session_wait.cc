// SPDX-License-Identifier: MIT
// The part of a session that waits until the machine is quiet, before each block and when an
// experiment continues. No trial runs meanwhile, and readers run only between two looks.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <utility>

#include "base/time.h"
#include "design/expand.h"
#include "results/document.h"
#include "stabd/daemon/session/session.h"

namespace stab::daemon {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

std::string block_words(const plan::Trial& trial) {
  return fmt::format("{} {}", trial.warmup ? "warm-up block" : "block", trial.block + 1);
}

std::string rounded(nanoseconds time) {
  constexpr std::chrono::seconds second(1);
  return time < second ? "less than 1 s" : format_duration(nanoseconds(time / second * second));
}

}  // namespace

// Returns true if the session continues later.
bool Session::waits_for_quiet(const Schedule::Step& step) {
  if (!plan_.wait_for_quiet) return false;
  const plan::Trial trial = expansion_.trials[step.position];
  if (quiet_block_ == std::pair(trial.warmup, trial.block)) return false;
  activity_ = Wait{.position = step.position, .since = steady_clock::now()};
  look_at_machine();
  return true;
}

void Session::look_at_machine() {
  around_.look(places_.front().cpus.trial,
               {.load = plan_.wait_for_quiet->load,
                .temperature_c = plan_.wait_for_quiet->temperature_c,
                .frequency_khz = plan_.wait_for_quiet->frequency_khz},
               [this, asked = ++question_](const std::string& loud,
                                           const std::vector<std::string>& missing) {
                 if (asked != question_ || last_) return;
                 looked(loud, missing);
               });
}

void Session::looked(const std::string& loud, const std::vector<std::string>& missing) {
  if (!missing.empty() && !std::exchange(told_of_missing_, true))
    note(std::string(results::wait_event),
         fmt::format("did not wait: {}", fmt::join(missing, ", ")));
  const nanoseconds waited = steady_clock::now() - busy_with<Wait>()->since;
  const bool in_vain = !loud.empty() && waited >= plan_.wait_for_quiet->most;
  if (loud.empty() || in_vain) return end_wait(waited, in_vain);
  std::get<Wait>(activity_).loud = loud;
  // Readers must not wait as long as the trials do.
  const bool waits = around_.let_readers_run(
      [this, asked = ++question_] {
        if (asked == question_) look_at_machine();
      },
      false);
  if (!waits) look_at_machine();
}

// A wait that found the machine quiet at once is not recorded. After the longest wait the block is
// measured anyway: to postpone it would make the order of blocks depend on the machine's state.
void Session::end_wait(nanoseconds waited, bool in_vain) {
  const Wait wait = std::get<Wait>(std::exchange(activity_, {}));
  const plan::Trial trial = expansion_.trials[wait.position];
  quiet_block_ = {trial.warmup, trial.block};
  if (in_vain || !wait.loud.empty()) {
    waited_ = {counters::counted(std::string(results::wait_reading), "ns", waited.count()),
               counters::counted(std::string(results::wait_in_vain_reading), "",
                                 std::int64_t{in_vain ? 1 : 0})};
    note(std::string(results::wait_event),
         fmt::format("before {}: {}{}", block_words(trial), rounded(waited),
                     in_vain ? " in vain, so the block is measured anyway: " +
                                   (wait.loud.empty() ? "the machine was not quiet" : wait.loud)
                             : ", until then " + wait.loud));
  }
  continue_work();
}

std::string Session::wait_words() const {
  const Wait& wait = std::get<Wait>(activity_);
  return fmt::format("waiting for a quiet machine, {} of {}: {}",
                     rounded(steady_clock::now() - wait.since),
                     format_duration(plan_.wait_for_quiet->most),
                     wait.loud.empty() ? "checking the machine" : wait.loud);
}

}  // namespace stab::daemon
