// SPDX-License-Identifier: MIT
// Follows an experiment to its end, or until Ctrl-C.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "client/client.h"
#include "protocol/messages.h"

namespace stab::client {

// While it exists, SIGINT, SIGTERM and SIGHUP (a lost terminal) arrive on fd() and don't end us.
class SignalFd {
 public:
  SignalFd();
  ~SignalFd();
  SignalFd(const SignalFd&) = delete;
  SignalFd& operator=(const SignalFd&) = delete;
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] int take() const;  // reads and returns the signal

 private:
  sigset_t before_{};
  Fd fd_;
};

struct Followed {
  protocol::Progress progress;  // the last line
  int signal = 0;               // the signal that came before the end; 0: none came
};

// Opens a connection on which the experiment's progress lines arrive.
Result<Client> start_watching(const std::vector<std::string>& sockets, std::int64_t id);

// Shows progress until the experiment ends or a signal arrives. The experiment itself continues
// after a signal.
Result<Followed> follow(Client& client, const SignalFd& signals);

// Does what start_watching() and follow() do, and possibly more: see web/web.h.
using Follower = std::function<Result<Followed>(const std::vector<std::string>& sockets,
                                                std::int64_t id, const SignalFd& signals)>;

}  // namespace stab::client
