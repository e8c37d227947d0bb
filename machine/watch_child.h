// SPDX-License-Identifier: MIT
// Watches a running program until it ends by itself, is stopped, or exceeds its timeout or one of
// its limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/fd.h"
#include "machine/child.h"

namespace stab::machine {

// Collects the text of one stream.
struct Stream {
  Fd fd;
  std::string text;

  // Reads what is available; returns false if there is more than `limit` in total. Closes the
  // descriptor at the end of the stream.
  bool drain(std::uint64_t limit);
  // Reads some of what is available and forgets it.
  void throw_away();
};

class Supervisor {
 public:
  // `starter` may still be ending while the program runs; it does not count as part of the program.
  // `shared_before` is `before` in limits.h.
  Supervisor(const Launch& launch, int pidfd, pid_t starter, std::uint64_t shared_before,
             Stream& out, Stream& err, Stream* beside)
      : launch_(launch),
        pidfd_(pidfd),
        starter_(starter),
        shared_before_(shared_before),
        out_(out),
        err_(err),
        beside_(beside) {}

  // Waits until the program has ended or must be ended. `End::exited` means that it ended by
  // itself. `started` and `ended` are times of the monotonic clock.
  End wait(std::chrono::nanoseconds started, std::chrono::nanoseconds& ended);

  // The limit that the program exceeded, in words.
  [[nodiscard]] const std::string& passed() const { return passed_; }

 private:
  const Launch& launch_;
  int pidfd_;
  pid_t starter_;
  std::uint64_t shared_before_;
  Stream& out_;
  Stream& err_;
  Stream* beside_;  // output that is thrown away; may be null
  std::string passed_;
};

}  // namespace stab::machine
