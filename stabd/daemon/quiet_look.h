// SPDX-License-Identifier: MIT
// Watches the machine for a moment while no trial runs, for an experiment that waits for a quiet
// machine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine/calm.h"
#include "stabd/daemon/clock.h"

namespace stab::daemon {

class QuietLook {
 public:
  // `loud` says what was not quiet, or is "", and `missing` lists the bounds that can't be checked
  // here.
  using OnLook =
      std::function<void(const std::string& loud, const std::vector<std::string>& missing)>;

  // `root` is a prefix for /proc and /sys, for tests.
  QuietLook(Clock& clock, std::string root);

  // Begins a look, in place of one that has begun already. `done` is called once, from the loop.
  void begin(const machine::CpuSet& trial, const machine::CalmBounds& bounds, OnLook done);
  // After this, `done` is not called.
  void stop();

 private:
  struct Looking {
    machine::Calm calm;
    Clock::Time since;
    OnLook done;
  };
  void end();

  Clock& clock_;
  std::string root_;
  std::optional<Looking> looking_;
  std::unique_ptr<Timer> timer_;
};

}  // namespace stab::daemon
