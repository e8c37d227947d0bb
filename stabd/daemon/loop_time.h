// SPDX-License-Identifier: MIT
// How long the daemon's loop keeps everybody waiting: of each of its turns the CPU time that it took, and apart from that
// the time for which it waited for a disk, or for a CPU that others had.
#pragma once

#include <uv.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace stab::daemon {

// Times by their size: a share of them is at most a quarter off.
class Durations {
 public:
  void add(std::chrono::nanoseconds time);
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::chrono::nanoseconds longest() const { return longest_; }
  // So many of a thousand are not longer than this; 0 without any.
  [[nodiscard]] std::chrono::nanoseconds below(unsigned of_thousand) const;

 private:
  static constexpr std::size_t sizes = 256;  // four to each power of two
  std::array<std::uint64_t, sizes> counts_{};
  std::uint64_t count_ = 0;
  std::chrono::nanoseconds longest_{0};
};

class LoopTime {
 public:
  // Before the loop runs, which closes the handle at its end.
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
