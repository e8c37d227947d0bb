// SPDX-License-Identifier: MIT
// A clock that stands until a test turns it, for tests of the daemon's parts.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "stabd/daemon/part.h"

namespace stab::daemon {

class ClockOfTest : public Clock {
 public:
  using Milliseconds = std::chrono::milliseconds;

  [[nodiscard]] Time now() const override { return Time(time_); }
  [[nodiscard]] Clocks clocks() const override {
    const std::int64_t ns = std::chrono::nanoseconds(time_).count();
    return {.wall_ns = ns, .running_ns = ns, .boot = "first"};
  }
  [[nodiscard]] Milliseconds turn_began() const override { return time_; }
  [[nodiscard]] std::unique_ptr<Timer> timer(std::function<void()> ring) override {
    return std::make_unique<TimerOfTest>(*this, std::move(ring));
  }

  // Lets this time pass. Timers ring in the order of their times.
  void pass(Milliseconds time) {
    const Milliseconds until = time_ + time;
    while (TimerOfTest* const next = first()) {
      if (*next->at_ > until) break;
      time_ = std::max(time_, *next->at_);
      next->ring();
    }
    time_ = until;
  }
  // The number of timers that run.
  [[nodiscard]] std::size_t running() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(timers_, [](const Timer* each) { return each->runs(); }));
  }

 private:
  class TimerOfTest : public Timer {
   public:
    TimerOfTest(ClockOfTest& clock, std::function<void()> ring)
        : clock_(clock), ring_(std::move(ring)) {
      clock_.timers_.push_back(this);
    }
    ~TimerOfTest() override { std::erase(clock_.timers_, this); }
    TimerOfTest(const TimerOfTest&) = delete;
    TimerOfTest& operator=(const TimerOfTest&) = delete;

    void start(Milliseconds after, Milliseconds every) override {
      at_ = clock_.time_ + after;
      every_ = every;
    }
    void start_from_now(Milliseconds after, Milliseconds every) override { start(after, every); }
    void stop() override { at_.reset(); }
    [[nodiscard]] bool runs() const override { return at_.has_value(); }
    void ring() {
      if (every_.count() == 0)
        at_.reset();
      else
        *at_ += every_;
      const auto ring = ring_;
      ring();
    }

    ClockOfTest& clock_;
    std::function<void()> ring_;
    std::optional<Milliseconds> at_{};
    Milliseconds every_{0};
  };

  TimerOfTest* first() {
    TimerOfTest* first = nullptr;
    for (TimerOfTest* each : timers_)
      if (each->runs() && (first == nullptr || *each->at_ < *first->at_)) first = each;
    return first;
  }

  Milliseconds time_{1'000};
  std::vector<TimerOfTest*> timers_;
};

}  // namespace stab::daemon
