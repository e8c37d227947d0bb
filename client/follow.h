// SPDX-License-Identifier: MIT
// Following an experiment to its end, with Ctrl-C.
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

// While it lives SIGINT, SIGTERM and SIGHUP (a lost terminal) arrive on fd() instead of ending us.
class SignalFd {
 public:
  SignalFd();
  ~SignalFd();
  SignalFd(const SignalFd&) = delete;
  SignalFd& operator=(const SignalFd&) = delete;
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] int take() const;  // the signal

 private:
  sigset_t before_{};
  Fd fd_;
};

struct Followed {
  protocol::Progress progress;  // the last line
  int signal = 0;               // that came before the end; 0: none
};

// A conversation in which progress lines of the experiment follow.
Result<Client> start_watching(const std::vector<std::string>& sockets, std::int64_t id);

// To its end, or to a signal; what runs goes on then.
Result<Followed> follow(Client& client, const SignalFd& signals);

// As start_watching() and follow(), with more beside them: see web/web.h.
using Follower = std::function<Result<Followed>(const std::vector<std::string>& sockets,
                                                std::int64_t id, const SignalFd& signals)>;

}  // namespace stab::client
