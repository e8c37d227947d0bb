// SPDX-License-Identifier: MIT
// Serves one path to browsers on this machine. Each server draws a new random path, so that other
// users of the machine, who can connect, do not know it.
#pragma once

#include <poll.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "client/web/connection.h"

namespace stab::client::web {

// Further connections wait until one of these ends.
inline constexpr std::size_t most_connections = 16;

class Server {
 public:
  // `where`: an address that Address::read accepts.
  static Result<Server> open(const std::string& where);
  // "http://127.0.0.1:41234/3f.../".
  [[nodiscard]] std::string url() const;

  // The descriptors that poll() should wait for, and the latest time to wait until.
  void add_to(std::vector<pollfd>& fds) const;
  [[nodiscard]] Clock::time_point until() const;
  void go_on(const Answers& answers, Clock::time_point now);
  // Whether the final page was sent completely to some browser.
  [[nodiscard]] bool last_was_taken() const { return last_was_taken_; }

 private:
  Server(Fd listening, std::string path);
  Fd listening_;
  std::string path_;
  std::vector<Connection> connections_{};
  bool last_was_taken_ = false;
};

}  // namespace stab::client::web
