// SPDX-License-Identifier: MIT
// Makes the stacks of threads larger while frames have pads, and lets the first frames begin at
// random depths.
//
// A frame takes at least 16 bytes, and a frame of a recursive function takes at most 112 more. So
// eight times the size is enough for any depth that the program reached without pads. Stacks become
// eight times as large, up to 64 MB, and a little larger for pads of functions that are not
// recursive: the default size at start, and a size that the program chose when the thread is made.
// Memory that the program provides itself is left alone.
//
// If that much address space is not available, or the address space is limited (`ulimit -v`),
// threads get the stacks that the program would have given them, and the report counts these.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "runtime/base/handler_proofs.h"
#include "runtime/base/random.h"

namespace stab::rt {

// The size of main's stack, and the largest size to which the stacks of threads are raised.
constexpr uint64_t stack_wanted = uint64_t{64} << 20;

// Returns nullptr, or the reason why threads without a size of their own get no larger stacks.
const char* raise_default_stack(const BeforeStart& proof);

// Returns the attributes to make a thread with: `own`, or a copy in `room` that asks for a larger
// stack. The copy shares the memory that it points to with `own`.
const pthread_attr_t* with_more_stack(const pthread_attr_t* own, pthread_attr_t& room);

// Counts a thread whose stack is not larger because there was no room.
void count_small_stack();
uint64_t small_stacks();

// The size of the stack that a thread with these attributes gets; 0: unknown.
uint64_t stack_size(const pthread_attr_t* attributes);

// The first frames of main and of threads, on which all others stand, begin a random number of
// bytes lower. So the size of the environment leaves no trace in the addresses of frames.
// `main_stack` is the size to which main's stack can grow.
void move_first_frames(const BeforeStart& proof, const Random& random, uint64_t main_stack);

// From now on threads tell epochs that they begin.
void announce_threads();

}  // namespace stab::rt
