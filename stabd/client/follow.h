// SPDX-License-Identifier: MIT
// Following an experiment to its end, with Ctrl-C.
#pragma once

#include <csignal>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace stab::client {

// While it lives SIGINT and SIGTERM arrive on fd() instead of ending us.
class SignalFd {
 public:
  SignalFd();
  ~SignalFd();
  SignalFd(const SignalFd&) = delete;
  SignalFd& operator=(const SignalFd&) = delete;
  [[nodiscard]] int fd() const { return fd_.get(); }
  void take() const;

 private:
  sigset_t before_{};
  Fd fd_;
};

enum class OnInterrupt {
  leave,   // the experiment goes on without us
  cancel,  // it is cancelled, and we wait for its end
};

struct Followed {
  nlohmann::json progress;  // the last line
  bool interrupted = false;
};

Result<Followed> follow(const std::string& socket_path, std::int64_t id, OnInterrupt on_interrupt,
                        const SignalFd& signals);

}  // namespace stab::client
