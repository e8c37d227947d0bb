// SPDX-License-Identifier: MIT
// Memory that processes share by name and that outlives them: files in /dev/shm, System V objects
// and message queues.
//
// Each namespace that start_contained() creates (containment.h) has its own shared memory, if the
// kernel allows it. The namespace's first process empties it after each trial, when all processes
// of the trial have ended.
#pragma once

#include "base/error.h"

namespace stab::machine {

// Must be called in a new mount namespace, with the rights to mount. Any part that the kernel
// refuses stays shared with the whole machine; see has_own_shared_memory().
void take_own_shared_memory();

// Whether this process has its own /dev/shm, and does not share the machine's.
bool has_own_shared_memory();

// Removes everything from our own shared memory; returns an error if something remains. Does
// nothing if the memory is shared with the machine.
Result<void> empty_own_shared_memory();

}  // namespace stab::machine
