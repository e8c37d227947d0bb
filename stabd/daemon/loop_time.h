// SPDX-License-Identifier: MIT
// Measures for how long each turn of the daemon's loop keeps clients waiting: the CPU time that it
// takes and, separately, the time for which it waits for a disk or for a busy CPU.
#pragma once

#include <uv.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

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

}  // namespace stab::daemon
