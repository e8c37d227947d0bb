// SPDX-License-Identifier: MIT
#include "stabd/daemon/loop.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

namespace stab::daemon {
namespace {

using std::chrono::milliseconds;

class LoopTimer : public Timer {
 public:
  LoopTimer(uv_loop_t* loop, std::function<void()> ring)
      : ring_(std::move(ring)), handle_(new uv_timer_t) {
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
        handle_, [](uv_timer_t* handle) { static_cast<LoopTimer*>(handle->data)->ring_(); },
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

  std::function<void()> ring_;
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

}  // namespace stab::daemon
