// SPDX-License-Identifier: MIT
// Turns an event loop beside the clock of a test, for tests of parts that start processes.
#pragma once

#include <unistd.h>
#include <uv.h>

#include <chrono>

#include "stabd/daemon/clock_testing.h"

namespace stab::daemon {

// Serves what the loop has, and then lets a moment pass. A test that waits for a process calls this
// until the process has done its work. The test's clock never overtakes the real time, so however
// slow the machine is, the parts' time limits leave the process as much time as in the daemon.
inline void turn(uv_loop_t* loop, ClockOfTest& clock) {
  constexpr std::chrono::milliseconds moment{2};
  uv_run(loop, UV_RUN_NOWAIT);
  usleep(std::chrono::microseconds(moment).count());
  clock.pass(moment);
}

}  // namespace stab::daemon
