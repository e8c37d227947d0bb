// SPDX-License-Identifier: MIT
// One epoch: the other threads stop, the functions that were called get new places, all threads are
// moved, and layouts that nothing refers to any more become free again.
#pragma once

#include <ucontext.h>

#include "runtime/base/handler_proofs.h"
#include "runtime/epoch/epoch.h"

namespace stab::rt::one_epoch {

inline constexpr const char* shadow_stack_is_on =
    "the CPU checks return addresses against a shadow stack (CET)";

// Called before the first epoch. `poison`: a layout that is free again can be neither read nor run.
void configure(bool poison);

// One caller at a time. `asked`: the program wants the epoch now, however recent the last one was.
void run(const InHandler& proof, ucontext_t& interrupted, bool asked);

// Whether the last epoch knew all threads of the process.
bool all_listed();

// A thread has a shadow stack, so functions must stay from now on.
void note_shadow_stack();
// A call of stab_randomize_now() found epochs kept out. Any thread may call this at any time.
void note_refused_call();
// A thread that keeps epochs out may never stop doing so, and another thread no longer waits for it.
// So functions must stay from now on. Any thread may call this while it keeps epochs out.
void note_lost_thread();
// Notes for the report the reason, outside of epochs, why no epoch comes any more. The caller has
// stopped epochs.
void end(const char* why);
// Whether no epoch can succeed any more.
bool are_over();

const EpochCounts& counts();

// Called in a child of fork.
void forget();

}  // namespace stab::rt::one_epoch
