// SPDX-License-Identifier: MIT
// Watches a program that runs: until it ends by itself, is stopped, or passes its timeout or one of
// its limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/fd.h"
#include "machine/child.h"

namespace stab::machine {

// Collects one stream up to its limit.
struct Stream {
  Fd fd;
  std::string text;

  // False when the limit is passed. Closes at the end of the stream.
  bool drain(std::uint64_t limit);
};

class Supervisor {
 public:
  // The starter is no part of the program, beside which it may still be ending.
  // `shared_before` is as in limits.h.
  Supervisor(const Launch& launch, int pidfd, pid_t starter, std::uint64_t shared_before,
             Stream& out, Stream& err)
      : launch_(launch),
        pidfd_(pidfd),
        starter_(starter),
        shared_before_(shared_before),
        out_(out),
        err_(err) {}

  // Waits until the program has ended, or must be: `End::exited` stands for "ended by itself".
  // `started` and `ended` are of the monotonic clock.
  End wait(std::chrono::nanoseconds started, std::chrono::nanoseconds& ended);

  // Which limit it has passed, in words.
  [[nodiscard]] const std::string& passed() const { return passed_; }

 private:
  const Launch& launch_;
  int pidfd_;
  pid_t starter_;
  std::uint64_t shared_before_;
  Stream& out_;
  Stream& err_;
  std::string passed_;
};

}  // namespace stab::machine
