// SPDX-License-Identifier: MIT
// The conversation with a service manager, usually systemd, through environment variables and
// datagrams; see sd_notify(3) and sd_listen_fds(3). Without a service manager nothing is sent.
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
