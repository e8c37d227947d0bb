// SPDX-License-Identifier: MIT
// Which line is made virtually faster, by how much, and for how long. One process coordinates: a
// thread of its own, which is not sampled, begins and ends the experiments and writes them down.
#pragma once

#include <stdint.h>

namespace stab::causal {

// Makes this process the coordinator unless another is, and starts its thread.
void begin_experiments();

// The coordinator ends: its running experiment is dropped, or recorded if it is from end to end.
void end_experiments();
// After that: its thread has gone.
void wait_for_coordinator();
// A child of fork coordinates nothing.
void leave_experiments();

// A sample in this line, which stands for so much CPU time: by how much its thread runs ahead.
uint64_t speed_up(uint32_t line, uint64_t interval_ns);

}  // namespace stab::causal
