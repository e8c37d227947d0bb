// SPDX-License-Identifier: MIT
// Sends a signal to each thread after every Head::sample_ns of its CPU time. The signal's handler
// counts the line that the thread runs, makes the thread run ahead if that line is sped up, and
// pays what the thread owes.
#pragma once

#include <stdint.h>

namespace stab::causal {

// SIGSTKFLT, which Linux never sends. The library hides it from programs. A real-time signal would
// need room in the queue, and without room it would come as SIGIO, which ends a program.
constexpr int sample_signal = 16;

// Installs the handler for all threads of the process.
void prepare_sampling();

// Twice the stack that a sample needs besides the kernel's frame.
constexpr uint64_t most_sample_stack = 4096;

// If threads have an alternate stack, samples run on it, as a thread's own stack may be tiny.
// After this call they don't, because an alternate stack is too small.
void leave_alternate_stacks();

// Starts to sample the calling thread, which must be counted.
void start_sampling();
// After this, no signal of ours comes to the calling thread.
void stop_sampling();

}  // namespace stab::causal
