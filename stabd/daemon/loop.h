// SPDX-License-Identifier: MIT
// The daemon's event loop, which is the clock of the daemon's parts.
#pragma once

#include <uv.h>

#include <chrono>
#include <functional>
#include <memory>

#include "base/error.h"
#include "stabd/daemon/clock.h"
#include "stabd/daemon/loop_time.h"

namespace stab::daemon {

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

 private:
  Loop() = default;

  uv_loop_t loop_{};
  LoopTime time_;
  bool open_ = false;
};

}  // namespace stab::daemon
