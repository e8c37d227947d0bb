// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace stab::rt {

// What the epochs of a run came to.
struct EpochCounts {
  uint64_t layouts = 1;       // that the run has seen, the first included
  uint64_t given_up = 0;      // epochs that left the layout as it was
  const char* why = nullptr;  // of the last one given up
  uint64_t total_ns = 0;
  uint64_t longest_ns = 0;
  uint64_t layouts_kept = 0;  // the most old ones at a time that something might refer to
  uint64_t frames_moved = 0;  // return addresses and program counters
  uint64_t period_ns = 0;     // that was asked for; 0: none
  uint64_t achieved_ns = 0;   // CPU time for each new layout; 0: there was none
  // The most running threads at a time that had no alarm where no timer of the process stands
  // behind them, and the CPU time by which epochs came too late then.
  uint64_t without_alarm = 0;
  uint64_t late_ns = 0;
};

}  // namespace stab::rt
