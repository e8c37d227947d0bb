// SPDX-License-Identifier: MIT
#include "stabd/daemon/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <ctime>
#include <utility>

namespace stab::daemon {
namespace {

using std::chrono::nanoseconds;

// Four sizes lie between a power of two and the next.
std::size_t size_of(std::uint64_t ns) {
  if (ns < 4) return ns;
  const auto power = static_cast<std::size_t>(std::bit_width(ns)) - 1;
  return 4 * (power - 1) + ((ns >> (power - 2)) & 3U);
}

// The longest time of that size.
std::uint64_t end_of(std::size_t size) {
  if (size < 4) return size;
  const std::size_t power = size / 4 + 1;
  return (std::uint64_t{4 + size % 4 + 1} << (power - 2)) - 1;
}

std::uint64_t cpu_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

void Durations::add(nanoseconds time) {
  const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  ++counts_[std::min(size_of(ns), sizes - 1)];
  ++count_;
  longest_ = std::max(longest_, time);
}

nanoseconds Durations::below(unsigned of_thousand) const {
  const std::uint64_t wanted = (count_ * of_thousand + 999) / 1000;
  std::uint64_t seen = 0;
  for (std::size_t size = 0; size < sizes && count_ > 0; ++size) {
    seen += counts_[size];
    if (seen >= wanted)
      return std::min(longest_, nanoseconds(static_cast<std::int64_t>(end_of(size))));
  }
  return longest_;
}

void LoopTime::watch(uv_loop_t* loop) {
  uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
  uv_prepare_init(loop, &prepare_);
  prepare_.data = this;
  uv_prepare_start(&prepare_,
                   [](uv_prepare_t* handle) { static_cast<LoopTime*>(handle->data)->turn(); });
  uv_unref(reinterpret_cast<uv_handle_t*>(&prepare_));
}

// Called right before the loop waits for events.
void LoopTime::turn() {
  const std::uint64_t cpu = cpu_time();
  const std::uint64_t wall = uv_hrtime();
  const std::uint64_t idle = uv_metrics_idle_time(prepare_.loop);
  const auto computed = static_cast<std::int64_t>(cpu - std::exchange(cpu_, cpu));
  const auto passed = static_cast<std::int64_t>(wall - std::exchange(wall_, wall));
  const auto idled = static_cast<std::int64_t>(idle - std::exchange(idle_, idle));
  if (!std::exchange(begun_, true)) return;
  computing_.add(nanoseconds(computed));
  waiting_.add(nanoseconds(std::max<std::int64_t>(passed - idled - computed, 0)));
}

namespace {

using std::chrono::milliseconds;

class LoopTimer : public Timer {
 public:
  LoopTimer(uv_loop_t* loop, std::function<void()> ring)
      : ring_(std::make_shared<const std::function<void()>>(std::move(ring))),
        handle_(new uv_timer_t) {
    uv_timer_init(loop, handle_);
    handle_->data = this;
  }
  ~LoopTimer() override {
    // A loop is closed after all of its handles, so only our memory is left then.
    if (uv_is_closing(as_handle()) != 0) {
      delete handle_;
    } else {
      uv_close(as_handle(),
               [](uv_handle_t* handle) { delete reinterpret_cast<uv_timer_t*>(handle); });
    }
  }
  LoopTimer(const LoopTimer&) = delete;
  LoopTimer& operator=(const LoopTimer&) = delete;

  void start(milliseconds after, milliseconds every) override {
    uv_timer_start(
        handle_,
        [](uv_timer_t* handle) {
          const auto ring = static_cast<LoopTimer*>(handle->data)->ring_;
          (*ring)();
        },
        static_cast<std::uint64_t>(after.count()), static_cast<std::uint64_t>(every.count()));
  }
  void start_from_now(milliseconds after, milliseconds every) override {
    uv_update_time(handle_->loop);
    start(after, every);
  }
  void stop() override { uv_timer_stop(handle_); }
  [[nodiscard]] bool runs() const override { return uv_is_active(as_handle()) != 0; }

 private:
  [[nodiscard]] uv_handle_t* as_handle() const { return reinterpret_cast<uv_handle_t*>(handle_); }

  std::shared_ptr<const std::function<void()>> ring_;  // shared with a call that destroys the timer
  uv_timer_t* handle_;  // the loop uses it until it is closed, so it may outlive us
};

}  // namespace

Result<std::unique_ptr<Loop>> Loop::open() {
  std::unique_ptr<Loop> loop(new Loop);
  if (const int error = uv_loop_init(&loop->loop_); error != 0)
    return fail(fmt::format("cannot set up the event loop: {}", uv_strerror(error)));
  loop->open_ = true;
  loop->time_.watch(&loop->loop_);
  return loop;
}

Loop::~Loop() {
  if (!open_) return;
  uv_walk(
      &loop_,
      [](uv_handle_t* handle, void*) {
        if (uv_is_closing(handle) == 0) uv_close(handle, nullptr);
      },
      nullptr);
  uv_run(&loop_, UV_RUN_DEFAULT);
  uv_loop_close(&loop_);
}

std::unique_ptr<Timer> Loop::timer(std::function<void()> ring) {
  return std::make_unique<LoopTimer>(&loop_, std::move(ring));
}

Result<void> Loop::on_signal(int number, std::function<void()> come) {
  auto signal = std::make_unique<Signal>();
  signal->come = std::move(come);
  int error = uv_signal_init(&loop_, &signal->handle);
  if (error == 0) {
    signal->handle.data = signal.get();
    uv_signal_t* const handle = &signal->handle;
    signals_.push_back(std::move(signal));
    error = uv_signal_start(
        handle, [](uv_signal_t* called, int) { static_cast<Signal*>(called->data)->come(); },
        number);
  }
  if (error == 0) return {};
  return fail(fmt::format("cannot watch for signal {}: {}", number, uv_strerror(error)));
}

}  // namespace stab::daemon
