// SPDX-License-Identifier: MIT
// A signal to each thread after every Head::sample_ns of its CPU time. Its handler counts the line
// that the thread runs, makes the thread run ahead if that line is sped up, and pays what is owed.
#pragma once

#include <stdint.h>

namespace stab::causal {

// SIGSTKFLT, which Linux never sends; programs do not get to see it. A real-time signal would need
// room in the queue, and where there is none come as SIGIO, which ends a program.
constexpr int sample_signal = 16;

// For all threads of the process: the handler.
void prepare_sampling();

// What a sample takes of a stack beside the kernel's frame, twice over.
constexpr uint64_t most_sample_stack = 4096;

// Samples run on alternate stacks where threads have one, as their own may be tiny. From now on they do
// not: an alternate stack is too small.
void leave_alternate_stacks();

// Of the calling thread, which is counted.
void start_sampling();
// After it no signal of ours comes to the calling thread.
void stop_sampling();

}  // namespace stab::causal
