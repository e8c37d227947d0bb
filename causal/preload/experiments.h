// SPDX-License-Identifier: MIT
// Chooses which line is made virtually faster, by how much, and for how long. One process
// coordinates the experiments: a thread of its own, which is not sampled, begins and ends them and
// writes them down.
#pragma once

#include <stdint.h>

namespace stab::causal {

// Makes this process the coordinator unless there is one already, and starts its thread.
void begin_experiments();

// Ends the coordinator. Its running experiment is dropped, or recorded if it goes from end to end.
void end_experiments();
// Call after end_experiments(). Returns when the coordinator's thread has ended.
void wait_for_coordinator();
// For a child of fork, which coordinates nothing.
void leave_experiments();

// Counts a sample in this line that stands for `interval_ns` of CPU time. Returns by how much the
// thread runs ahead.
uint64_t speed_up(uint32_t line, uint64_t interval_ns);

}  // namespace stab::causal
