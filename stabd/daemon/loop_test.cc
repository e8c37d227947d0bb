// SPDX-License-Identifier: MIT
#include "stabd/daemon/loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;

TEST(LoopTime, SharesOfDurationsAreAtMostAQuarterOff) {
  Durations times;
  EXPECT_EQ(times.below(999), 0ns);
  for (int i = 1; i <= 1000; ++i) times.add(std::chrono::microseconds(i));
  EXPECT_EQ(times.count(), 1000U);
  EXPECT_EQ(times.longest(), 1ms);
  EXPECT_GE(times.below(500), 500us);
  EXPECT_LE(times.below(500), 625us);
  EXPECT_GE(times.below(999), 999us);
  EXPECT_LE(times.below(999), 1ms);
  times.add(10h);
  EXPECT_EQ(times.longest(), 10h);
  EXPECT_LE(times.below(999), 1250us);
  EXPECT_EQ(times.below(1000), 10h);
}

std::chrono::nanoseconds cpu_time() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// A turn that computes is told apart from one that waits.
TEST(LoopTime, ComputingAndWaitingAreTwoThings) {
  uv_loop_t loop;
  uv_loop_init(&loop);
  LoopTime time;
  time.watch(&loop);
  uv_timer_t timer;
  uv_timer_init(&loop, &timer);
  int turns = 0;
  timer.data = &turns;
  uv_timer_start(
      &timer,
      [](uv_timer_t* handle) {
        int& turn = *static_cast<int*>(handle->data);
        if (++turn == 2) {
          const auto until = cpu_time() + 300ms;
          while (cpu_time() < until) continue;
        }
        if (turn == 3) usleep(300'000);
        if (turn == 5) uv_timer_stop(handle);
      },
      1, 1);
  uv_run(&loop, UV_RUN_DEFAULT);
  EXPECT_GE(time.computing().count(), 4U);
  EXPECT_GT(time.computing().longest(), 200ms);
  EXPECT_GE(time.waiting().longest(), 250ms);
  EXPECT_LT(time.computing().below(500), 100ms);
  uv_walk(&loop, [](uv_handle_t* handle, void*) { uv_close(handle, nullptr); }, nullptr);
  uv_run(&loop, UV_RUN_DEFAULT);
  EXPECT_EQ(uv_loop_close(&loop), 0);
}

TEST(Loop, ATimerRingsUntilItIsStopped) {
  const auto loop = Loop::open().value();
  int rung = 0;
  std::unique_ptr<Timer> timer;
  timer = loop->timer([&] {
    if (++rung == 3) timer->stop();
  });
  EXPECT_FALSE(timer->runs());
  timer->start(1ms, 1ms);
  EXPECT_TRUE(timer->runs());
  uv_run(loop->get(), UV_RUN_DEFAULT);
  EXPECT_EQ(rung, 3);
  EXPECT_FALSE(timer->runs());
  timer->start_from_now(1ms);
  uv_run(loop->get(), UV_RUN_DEFAULT);
  EXPECT_EQ(rung, 4);
}

TEST(Loop, ATimerMayGoBeforeItRings) {
  const auto loop = Loop::open().value();
  auto timer = loop->timer([] { FAIL(); });
  timer->start(1ms);
  timer.reset();
  uv_run(loop->get(), UV_RUN_DEFAULT);
}

TEST(Loop, ATimerMayGoWhileItRings) {
  const auto loop = Loop::open().value();
  int rung = 0;
  std::unique_ptr<Timer> timer;
  timer = loop->timer([&timer, &rung] {
    timer.reset();
    ++rung;
  });
  timer->start(1ms, 1ms);
  uv_run(loop->get(), UV_RUN_DEFAULT);
  EXPECT_EQ(rung, 1);
}

TEST(Loop, ASignalCallsItsOwnerFromTheLoop) {
  const auto loop = Loop::open().value();
  std::string come;
  ASSERT_TRUE(loop->on_signal(SIGUSR1, [&] { come += '1'; }));
  ASSERT_TRUE(loop->on_signal(SIGUSR2, [&] {
    come += '2';
    uv_stop(loop->get());
  }));
  raise(SIGUSR1);
  EXPECT_EQ(come, "") << "the loop has not turned yet";
  while (come.empty()) uv_run(loop->get(), UV_RUN_ONCE);
  raise(SIGUSR2);
  uv_run(loop->get(), UV_RUN_DEFAULT);
  EXPECT_EQ(come, "12");
}

TEST(Loop, ASignalThatNobodyCanCatchIsAnError) {
  const auto loop = Loop::open().value();
  const auto watched = loop->on_signal(SIGKILL, [] { FAIL(); });
  ASSERT_FALSE(watched);
  EXPECT_TRUE(watched.error().message.starts_with("cannot watch for signal 9: "));
}

TEST(Loop, ATimerMayOutliveTheLoop) {
  auto loop = Loop::open().value();
  const auto timer = loop->timer([] { FAIL(); });
  timer->start(1ms);
  loop.reset();
  timer->start(1ms);
  timer->stop();
  EXPECT_FALSE(timer->runs());
}

}  // namespace
}  // namespace stab::daemon
