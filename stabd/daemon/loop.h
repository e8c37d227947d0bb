// SPDX-License-Identifier: MIT
// The daemon's event loop, and for how long each of its turns keeps clients waiting.
#pragma once

#include <uv.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "stabd/daemon/part.h"

namespace stab::daemon {

// A histogram of times, whose quantiles are at most a quarter too long.
class Durations {
 public:
  void add(std::chrono::nanoseconds time);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::chrono::nanoseconds longest() const { return longest_; }
  // At least `of_thousand` of a thousand times are not longer than the result; 0 if no time was
  // added.
  [[nodiscard]] std::chrono::nanoseconds below(unsigned of_thousand) const;

 private:
  static constexpr std::size_t sizes = 256;  // four to each power of two
  std::array<std::uint64_t, sizes> counts_{};
  std::uint64_t count_ = 0;
  std::chrono::nanoseconds longest_{0};
};

// Measures each turn of the loop: the CPU time that it takes and, separately, the time for which it
// waits for a disk or for a busy CPU.
class LoopTime {
 public:
  // Call this before the loop runs. The handle is closed with the loop's other handles.
  void watch(uv_loop_t* loop);
  [[nodiscard]] const Durations& computing() const { return computing_; }
  [[nodiscard]] const Durations& waiting() const { return waiting_; }

 private:
  void turn();

  uv_prepare_t prepare_{};
  bool begun_ = false;
  std::uint64_t cpu_ = 0;
  std::uint64_t wall_ = 0;
  std::uint64_t idle_ = 0;
  Durations computing_;
  Durations waiting_;
};

// The daemon's event loop, which is the clock of the daemon's parts.
class Loop : public Clock {
 public:
  static Result<std::unique_ptr<Loop>> open();
  // Closes all handles that are still open. Their memory must still be there.
  ~Loop() override;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  uv_loop_t* get() { return &loop_; }
  // For how long its turns have kept clients waiting.
  [[nodiscard]] const LoopTime& time() const { return time_; }
  [[nodiscard]] Time now() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] Clocks clocks() const override { return stab::clocks(); }
  [[nodiscard]] std::chrono::milliseconds turn_began() const override {
    return std::chrono::milliseconds(uv_now(&loop_));
  }
  // The timer may outlive the loop, but then it does nothing.
  [[nodiscard]] std::unique_ptr<Timer> timer(std::function<void()> ring) override;
  // From now on, the loop calls `come` when the process receives this signal. On an error, the
  // signal has the effect that it had before.
  Result<void> on_signal(int number, std::function<void()> come);

 private:
  struct Signal {
    uv_signal_t handle{};
    std::function<void()> come;
  };

  Loop() = default;

  uv_loop_t loop_{};
  LoopTime time_;
  std::vector<std::unique_ptr<Signal>> signals_;  // libuv knows the handles by their addresses
  bool open_ = false;
};

}  // namespace stab::daemon
