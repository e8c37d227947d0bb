// SPDX-License-Identifier: MIT
// One epoch: the other threads stop, the functions that were called get new places, all threads
// move over, and layouts that nothing refers to any more are free again.
#pragma once

#include <ucontext.h>

#include "runtime/base/in_handler.h"
#include "runtime/epoch/counts.h"

namespace stab::rt::one_epoch {

inline constexpr const char* shadow_stack_is_on = "a shadow stack holds the return addresses (CET)";

// Before the first one. `poison`: a layout that is free again can be neither read nor run.
void configure(bool poison);

// One caller at a time. `asked`: the program wants it now, however short ago the last one was.
void run(const InHandler& proof, ucontext_t& interrupted, bool asked);

// Whether the last one knew the threads that there are.
bool all_listed();

// A thread has one, so functions must stay from now on.
void note_shadow_stack();
// For a reason outside of epochs: none comes any more, and the report says why.
void end(const char* why);
// No epoch can succeed any more.
bool are_over();

const EpochCounts& counts();

// In a child of fork.
void forget();

}  // namespace stab::rt::one_epoch
