// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace stab::rt {

// The results of a run's epochs.
struct EpochCounts {
  uint64_t layouts = 1;       // that the run has seen, including the first
  uint64_t given_up = 0;      // epochs that left the layout as it was
  const char* why = nullptr;  // the reason for the last one given up
  uint64_t total_ns = 0;
  uint64_t longest_ns = 0;
  uint64_t layouts_kept = 0;  // the most old ones at a time that something might refer to
  uint64_t frames_moved = 0;  // return addresses and program counters
  uint64_t period_ns = 0;     // as asked for; 0: no period
  uint64_t achieved_ns = 0;   // CPU time for each new layout; 0: there was no new layout
  // The largest number, at one time, of running threads that had no alarm while the process had no
  // timer as a fallback, and the CPU time by which epochs came late then.
  uint64_t without_alarm = 0;
  uint64_t late_ns = 0;
};

}  // namespace stab::rt
