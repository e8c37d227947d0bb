// SPDX-License-Identifier: MIT
// The daemon as a service: its conversation with a service manager, from the message that it is
// ready to the stages of its end.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "stabd/daemon/part.h"
#include "stabd/daemon/session/state.h"
#include "store/records.h"

namespace stab::service {

// The conversation with a service manager, usually systemd, through environment variables and
// datagrams; see sd_notify(3) and sd_listen_fds(3). Without a service manager nothing is sent.
class Manager {
 public:
  Manager() = default;
  // Removes the variables from the environment, because no child may answer for us. It is an error
  // if the manager passes anything but one listening unix socket.
  static Result<Manager> from_environment();

  // Sends lines such as "READY=1". Errors are ignored, because nothing depends on these messages.
  void tell(std::string_view lines) const;
  // How often the manager expects WATCHDOG=1; 0: never.
  [[nodiscard]] std::chrono::microseconds watchdog() const { return watchdog_; }
  // Hands over the passed socket, once. It is empty if the daemon has to make its own.
  Fd take_socket() { return std::move(socket_); }

 private:
  std::string address_;  // the manager's socket; begins with NUL if it is an abstract one
  std::chrono::microseconds watchdog_{0};
  Fd socket_;
};

// The path at which this socket listens, or "" if that is unknown.
std::string path_of(const Fd& socket);

}  // namespace stab::service

namespace stab::daemon {

// Keeps the service manager informed: that we serve, that we are alive, which experiment runs, and
// that we stop.
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

// The daemon's end, in stages. The first signal lets the running trial end, if the settings say so
// and it ends in time. Then the daemon waits a short time until notices have gone out and a cluster
// has freed its allocations. The next signal doesn't wait for the trial, and one during the last
// wait ends that wait.
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
    // Whether a cluster may still hold allocations.
    [[nodiscard]] virtual bool owes_allocations() const = 0;
    // Nothing but notices and allocations is waited for from now on. Ending::leave() follows when
    // one of them may be done.
    virtual void wait_to_leave() = 0;
    virtual void stop_loop() = 0;

   protected:
    ~Steps() = default;
  };

  Ending(Clock& clock, Steps& steps);

  // A signal asks us to stop.
  void stop();
  // Doesn't wait for the running trial.
  void abandon();
  // No worker is left. Waits a short time for notices that are due, and for allocations.
  void leave();

  [[nodiscard]] bool has_begun() const { return begun_; }
  [[nodiscard]] bool abandons_trial() const { return abandoned_; }
  [[nodiscard]] bool is_leaving() const { return leaving_; }

 private:
  void ring();

  Steps& steps_;
  bool begun_ = false;
  bool abandoned_ = false;  // the running trial is not waited for
  bool leaving_ = false;    // only notices and allocations are waited for
  std::unique_ptr<Timer> timer_;
};

}  // namespace stab::daemon
