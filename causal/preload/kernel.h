// SPDX-License-Identifier: MIT
// System calls that only this library makes, in addition to those of runtime/base/os.h. They don't
// use libc, return the kernel's results, are safe in a signal handler, and leave errno as it is.
#pragma once

#include <stdint.h>

#include "causal/session.h"

namespace stab::causal::kernel {

// Identifies the file that a path names. Returns false if there is none.
bool identify(const char* path, uint64_t& device, uint64_t& inode);

// Finds the path of the file that is mapped at an address. Returns false if there is none, or if
// `room` is too small for the path and its zero. Until this returns, the program has one more
// descriptor.
bool name_of_mapping(uint64_t address, char* path, uint32_t room);

// Returns when the monotonic clock shows this time, never earlier, whatever signals come.
void sleep_until(uint64_t monotonic_ns);

// Returns when the monotonic clock shows this time, or when another thread has set the flag and
// woken us, or earlier.
void wait_until(uint64_t monotonic_ns, const uint32_t& flag);
void wake(const uint32_t& flag);

// Counts the CPU time of the calling thread, and sends the thread the signal every `period_ns` of
// it. It holds no descriptor. Returns a page for stop_clock(), or null if the kernel does not
// allow it.
void* start_clock(uint64_t period_ns, int signal, bool is_of_user_mode_only);
void stop_clock(void* page);

// Drops pending signals of this kind, which the calling thread must have blocked.
void drop_pending(int signal);

}  // namespace stab::causal::kernel
