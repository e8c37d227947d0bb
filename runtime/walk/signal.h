// SPDX-License-Identifier: MIT
// What the kernel leaves on the stack when it delivers a signal.
#pragma once

#include <ucontext.h>

#include "runtime/walk/walk.h"

namespace stab::rt {

// pc and registers of what was interrupted, and where the kernel keeps them.
void take_registers(Walk& walk, greg_t* kept);

// The walk is at the trampoline, the caller is what was interrupted. Returns false without a frame.
bool read_signal_frame(Walk& walk, Walk& caller);

// The caller's frame is on the same stack.
void keep_stack(const Walk& walk, Walk& caller);

// What was interrupted may run on another stack (walk.h, invariant 1). Returns false after too
// many changes.
bool change_stack(const Walk& walk, Walk& caller);

}  // namespace stab::rt
