// SPDX-License-Identifier: MIT
// A part of the daemon sees this much of the rest: time, and somebody who waits for its answer.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/time.h"

namespace stab::daemon {

// Calls its owner when its time has come. The owner may destroy the timer inside this call.
class Timer {
 public:
  Timer() = default;
  virtual ~Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Rings once after this time, or again and again if `every` is not 0. A running timer begins
  // anew. The time counts from the beginning of this turn of the loop.
  virtual void start(std::chrono::milliseconds after,
                     std::chrono::milliseconds every = std::chrono::milliseconds(0)) = 0;
  // The same, but the time counts from the present. The turn may have taken long already.
  virtual void start_from_now(std::chrono::milliseconds after,
                              std::chrono::milliseconds every = std::chrono::milliseconds(0)) = 0;
  virtual void stop() = 0;
  [[nodiscard]] virtual bool runs() const = 0;
};

// Time for the parts of the daemon. The daemon gives its parts its event loop (loop.h). A test
// gives them a clock of its own (clock_testing.h).
class Clock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Clock() = default;
  virtual ~Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  [[nodiscard]] virtual Time now() const = 0;
  // The clocks by which stored data ages.
  [[nodiscard]] virtual Clocks clocks() const = 0;
  // When this turn of the loop began, in milliseconds since some moment.
  [[nodiscard]] virtual std::chrono::milliseconds turn_began() const = 0;
  // The timer calls `ring` from the loop.
  [[nodiscard]] virtual std::unique_ptr<Timer> timer(std::function<void()> ring) = 0;
};

// Somebody who waits for an answer: a client, as the parts of the daemon see it.
class Asker {
 public:
  Asker() = default;
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  // The answer comes later, and further requests wait until then. `gone` is called if the client
  // goes first.
  virtual void await_answer(std::function<void()> gone) = 0;
  // Sends that answer, a line. The client's next request may be served inside of this call.
  virtual void answer(std::string line) = 0;

 protected:
  virtual ~Asker() = default;
};

}  // namespace stab::daemon
