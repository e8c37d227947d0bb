// SPDX-License-Identifier: MIT
// Memory that processes share by name and that outlives them: files in /dev/shm, System V objects, message queues.
//
// Each namespace that start_contained() makes (containment.h) has its own, where the kernel lets it. Its first process
// empties it after each trial, when no process of the trial is alive.
#pragma once

#include "base/error.h"

namespace stab::machine {

// In a new mount namespace, with the rights to mount. What the kernel refuses stays the machine's: see has_own_shared_memory().
void take_own_shared_memory();

// Whether this process has what take_own_shared_memory() makes, and not what the whole machine shares.
bool has_own_shared_memory();

// Removes all that lies there. An error if something stays; does nothing where the memory is the machine's.
Result<void> empty_own_shared_memory();

}  // namespace stab::machine
