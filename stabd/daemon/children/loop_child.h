// SPDX-License-Identifier: MIT
// A child process of the daemon as the loop sees it. It can yield to all other processes until
// hurry(), and it runs on the CPUs that its owner chooses, so that trials are left alone.
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
  // `status` is what machine::reap() returns.
  using OnEnded = std::function<void(std::optional<int> status)>;

  // The loop owns the child. `ended` is called once, from the loop, unless the child is abandoned.
  // If `idle`, every other process goes first. The child may run on `cpus`, or on our CPUs if that
  // is empty.
  static Result<std::shared_ptr<LoopChild>> start(uv_loop_t* loop,
                                                  const machine::ContainedStart& what, bool idle,
                                                  const std::vector<unsigned>& cpus, OnEnded ended);
  ~LoopChild() = default;
  LoopChild(const LoopChild&) = delete;
  LoopChild& operator=(const LoopChild&) = delete;

  void move_to(const std::vector<unsigned>& cpus) const;
  // From now on the child runs like any other process, if the kernel lets us raise its priority.
  void hurry() const;
  void send_signal(int number) const;
  // Kills the child and reports nothing.
  void abandon();
  // The time within which a killed process ends, unless somebody traces one of its processes.
  static constexpr std::chrono::seconds killing{5};
  // Like abandon(), and waits until then for the child's end, which the loop won't report.
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
