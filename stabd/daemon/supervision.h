// SPDX-License-Identifier: MIT
// Keeps the service manager informed: that we serve, that we are alive, which experiment runs, and
// that we stop.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "stabd/daemon/clock.h"
#include "stabd/daemon/session/state.h"
#include "stabd/service.h"
#include "store/records.h"

namespace stab::daemon {

class Supervision {
 public:
  Supervision(Clock& clock, service::Manager manager);

  // The socket that the manager passed to us, once.
  Fd take_socket() { return manager_.take_socket(); }
  // Call this when clients are served.
  void ready();
  // Says which experiment runs, if that has changed. `state` is empty if no experiment runs.
  void show(store::Id id, const std::string& name, std::optional<State> state);
  // We stop within this time.
  void stopping(std::chrono::microseconds within, std::string_view how);

 private:
  service::Manager manager_;
  // The experiment and the state that the manager was last told.
  std::pair<store::Id, std::optional<State>> told_{-1, std::nullopt};
  std::unique_ptr<Timer> watchdog_;  // runs if the manager has a watchdog
};

}  // namespace stab::daemon
