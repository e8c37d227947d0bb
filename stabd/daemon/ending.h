// SPDX-License-Identifier: MIT
// The daemon's end, in stages. The first signal lets the running trial end, if the settings say so
// and it ends in time, and lets notices go out. The next signal doesn't wait for the trial, and one
// during the wait for notices ends that wait.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "stabd/daemon/clock.h"

namespace stab::daemon {

class Ending {
 public:
  // The daemon's work at each stage.
  class Steps {
   public:
    // Begins nothing new from now on. Returns how long to wait for the running trial, or nothing if
    // nobody waits for a trial.
    virtual std::optional<std::chrono::nanoseconds> begin_to_stop() = 0;
    // Stops the worker. Its trial is not stored and will run again. Returns false without a worker;
    // otherwise Ending::leave() follows when the worker has ended.
    virtual bool stop_worker() = 0;
    [[nodiscard]] virtual bool owes_notices() const = 0;
    // Nothing but notices is waited for from now on.
    virtual void wait_for_notices() = 0;
    virtual void stop_loop() = 0;

   protected:
    ~Steps() = default;
  };

  Ending(Clock& clock, Steps& steps);

  // A signal asks us to stop.
  void stop();
  // Doesn't wait for the running trial.
  void abandon();
  // No worker is left. Waits a short time for notices that are due.
  void leave();

  [[nodiscard]] bool has_begun() const { return begun_; }
  [[nodiscard]] bool abandons_trial() const { return abandoned_; }
  [[nodiscard]] bool waits_for_notices() const { return leaving_; }

 private:
  void ring();

  Steps& steps_;
  bool begun_ = false;
  bool abandoned_ = false;  // the running trial is not waited for
  bool leaving_ = false;    // only notices are waited for
  std::unique_ptr<Timer> timer_;
};

}  // namespace stab::daemon
