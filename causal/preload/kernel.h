// SPDX-License-Identifier: MIT
// System calls that only this library makes, beside those of runtime/base/os.h: without libc, with
// the kernel's results, safe in a signal handler, and errno stays as it is.
#pragma once

#include <stdint.h>

#include "causal/session/session.h"

namespace stab::causal::kernel {

// Of the file that a path names. Returns false if there is none.
bool identify(const char* path, uint64_t& device, uint64_t& inode);

// The path of the file that is mapped at an address. Returns false if there is none, or no room for its
// zero. The program has a descriptor more until this returns.
bool name_of_mapping(uint64_t address, char* path, uint32_t room);

// Returns not before the monotonic clock shows this, whatever signals come.
void sleep_until(uint64_t monotonic_ns);

// Returns when the monotonic clock shows this, or another thread has set the flag and woken, or sooner.
void wait_until(uint64_t monotonic_ns, const uint32_t& flag);
void wake(const uint32_t& flag);

// Counts the CPU time of the calling thread, which gets the signal every `period_ns` of it, and holds
// no descriptor. A page to give to stop_clock, or null: it is not allowed.
void* start_clock(uint64_t period_ns, int signal, bool is_of_user_mode_only);
void stop_clock(void* page);

// The calling thread blocks the signal: what is pending of it is no more.
void drop_pending(int signal);

}  // namespace stab::causal::kernel
