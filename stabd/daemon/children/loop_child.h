// SPDX-License-Identifier: MIT
// A child of the daemon's as the loop sees it, which runs behind everything else and away from
// trials.
#pragma once

#include <uv.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "machine/containment.h"

namespace stab::daemon {

class LoopChild {
 public:
  // With what machine::reap() says.
  using OnEnded = std::function<void(std::optional<int> status)>;

  // Owned by the loop from here on. `ended` is called once, from the loop, unless it is abandoned.
  // `idle`: whatever else wants to run goes first. `cpus`: on which it may run; empty: on ours.
  static Result<std::shared_ptr<LoopChild>> start(uv_loop_t* loop,
                                                  const machine::ContainedStart& what, bool idle,
                                                  const std::vector<unsigned>& cpus, OnEnded ended);
  ~LoopChild() = default;
  LoopChild(const LoopChild&) = delete;
  LoopChild& operator=(const LoopChild&) = delete;

  void move_to(const std::vector<unsigned>& cpus) const;
  // It runs like any other process from now on, if we may decide that.
  void hurry() const;
  void send_signal(int number) const;
  // Kills it; nothing is reported.
  void abandon();
  // What a killed process may take, if nobody traces one of its own.
  static constexpr std::chrono::seconds killing{5};
  // The same, and waits for its end until then: the loop will not report it.
  void end(std::chrono::steady_clock::time_point until = std::chrono::steady_clock::now() +
                                                         killing);

 private:
  LoopChild() = default;
  [[nodiscard]] bool has_ended(std::chrono::milliseconds within) const;
  void process_ended();
  void kill_group() const;
  void close();

  machine::Contained process_;
  OnEnded ended_;
  uv_poll_t poll_{};
  std::shared_ptr<LoopChild> self_;
};

}  // namespace stab::daemon
