// SPDX-License-Identifier: MIT
#include "stabd/daemon/loop.h"

#include <gtest/gtest.h>

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;

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
