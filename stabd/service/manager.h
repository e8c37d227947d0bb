// SPDX-License-Identifier: MIT
// What a service manager, systemd as a rule, passes to a daemon and wants to hear from it: by
// variables of the environment and datagrams, see sd_notify(3) and sd_listen_fds(3). Where there is
// none, nothing is told.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace stab::service {

class Manager {
 public:
  Manager() = default;
  // Takes the variables out of the environment: no child is to answer for us. An error if what is
  // passed is not one unix socket that listens.
  static Result<Manager> from_environment();

  // "READY=1", a line each. What cannot be said is not said: nothing depends on it.
  void tell(std::string_view lines) const;
  // How often it wants to hear WATCHDOG=1; 0: never.
  [[nodiscard]] std::chrono::microseconds watchdog() const { return watchdog_; }
  // The socket to serve, once; none if we are to make it.
  Fd take_socket() { return std::move(socket_); }

 private:
  std::string address_;  // of its socket; begins with NUL if it is an abstract one
  std::chrono::microseconds watchdog_{0};
  Fd socket_;
};

// Where this socket listens, or "" if that cannot be told.
std::string path_of(const Fd& socket);

}  // namespace stab::service
