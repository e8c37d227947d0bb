// SPDX-License-Identifier: MIT
// A signal to each thread after every Head::sample_ns of its CPU time. Its handler counts the line
// that the thread runs, makes the thread run ahead if that line is sped up, and pays what is owed.
#pragma once

namespace stab::causal {

// SIGSTKFLT, which Linux never sends; programs do not get to see it. A real-time signal would need
// room in the queue, and where there is none come as SIGIO, which ends a program.
constexpr int sample_signal = 16;

// For all threads of the process: the handler.
void prepare_sampling();

// Of the calling thread, which is counted.
void start_sampling();
// After it no signal of ours comes to the calling thread.
void stop_sampling();

}  // namespace stab::causal
