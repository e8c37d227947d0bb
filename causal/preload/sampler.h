// SPDX-License-Identifier: MIT
// A signal to each thread after every Head::sample_ns of its CPU time. Its handler counts the line
// that the thread runs, makes the thread run ahead if that line is sped up, and pays what is owed.
#pragma once

namespace stab::causal {

// A real-time signal that programs do not get to see.
constexpr int sample_signal = 61;

// For all threads of the process: the handler.
void prepare_sampling();

// Of the calling thread, which is counted.
void start_sampling();
// After it no signal of ours comes to the calling thread.
void stop_sampling();

}  // namespace stab::causal
