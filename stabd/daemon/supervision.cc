// SPDX-License-Identifier: MIT
#include "stabd/daemon/supervision.h"

#include <fmt/format.h>

namespace stab::daemon {

Supervision::Supervision(Clock& clock, service::Manager manager)
    : manager_(std::move(manager)),
      watchdog_(clock.timer([this] { manager_.tell("WATCHDOG=1"); })) {}

// Tells the manager at half of its time limit that we are alive. The message comes from the loop,
// because it means that the loop turns.
void Supervision::ready() {
  manager_.tell("READY=1");
  const auto half = std::chrono::ceil<std::chrono::milliseconds>(manager_.watchdog()) / 2;
  if (half.count() > 0) watchdog_->start(half, half);
}

void Supervision::show(store::Id id, const std::string& name, std::optional<State> state) {
  if (told_ == std::pair(id, state)) return;
  told_ = {id, state};
  manager_.tell(state ? fmt::format("STATUS=experiment {} ({}) is {}", id, name, to_string(*state))
                      : "STATUS=no experiment is running");
}

void Supervision::stopping(std::chrono::microseconds within, std::string_view how) {
  manager_.tell(fmt::format("STOPPING=1\nEXTEND_TIMEOUT_USEC={}\nSTATUS={}", within.count(), how));
}

}  // namespace stab::daemon
