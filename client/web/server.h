// SPDX-License-Identifier: MIT
// Browsers of this machine, and the one path that they may ask for. Its name is drawn anew for each
// server, so that other users of the machine, who can connect, do not know it.
#pragma once

#include <poll.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "client/web/connection.h"

namespace stab::client::web {

// Others wait until one has gone.
inline constexpr std::size_t most_connections = 16;

class Server {
 public:
  // `where` as Address::read has it.
  static Result<Server> open(const std::string& where);
  // "http://127.0.0.1:41234/3f.../".
  [[nodiscard]] std::string url() const;

  // What poll() is to wait for, and until when at most.
  void add_to(std::vector<pollfd>& fds) const;
  [[nodiscard]] Clock::time_point until() const;
  void go_on(const Answers& answers, Clock::time_point now);
  // Somebody has been sent all of an answer that is the last.
  [[nodiscard]] bool last_was_taken() const { return last_was_taken_; }

 private:
  Server(Fd listening, std::string path);
  Fd listening_;
  std::string path_;
  std::vector<Connection> connections_{};
  bool last_was_taken_ = false;
};

}  // namespace stab::client::web
