// SPDX-License-Identifier: MIT
#include "stabd/daemon/ending.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "base/time.h"

namespace stab::daemon {
namespace {

constexpr std::chrono::seconds longest_wait_for_notices{10};

}  // namespace

Ending::Ending(Clock& clock, Steps& steps)
    : steps_(steps), timer_(clock.timer([this] { ring(); })) {}

void Ending::stop() {
  if (leaving_) steps_.stop_loop();
  if (std::exchange(begun_, true)) return abandon();
  const auto within = steps_.begin_to_stop();
  if (!within) return abandon();
  timer_->start(std::chrono::ceil<std::chrono::milliseconds>(*within));
}

void Ending::abandon() {
  if (std::exchange(abandoned_, true)) return;
  if (!steps_.stop_worker()) leave();
}

void Ending::leave() {
  if (!steps_.owes_notices()) return steps_.stop_loop();
  if (std::exchange(leaving_, true)) return;
  steps_.wait_for_notices();
  spdlog::info("stabd waits up to {} for unfinished notices; a second signal ends the wait",
               format_duration(longest_wait_for_notices));
  timer_->start(longest_wait_for_notices);
}

void Ending::ring() {
  if (leaving_)
    steps_.stop_loop();
  else
    abandon();
}

}  // namespace stab::daemon
