// SPDX-License-Identifier: MIT
// What another thread of this process does, as files of /proc tell. One costs as much as ten
// look-ups of CPU time.
#pragma once

#include <stdint.h>

namespace stab::rt {

enum class Activity : uint8_t {
  runs,
  sleeps,  // in the kernel, or is about to
  lends,   // sleeps while a child runs in its memory, perhaps (vfork, posix_spawn)
  unknown
};

Activity activity_of(int thread);

// A thread that has ended may stay in the list, the first one above all.
bool has_ended(int thread);

// How many there are, ended ones that stay in the list among them. 0: unknown.
uint32_t threads_in_process();

}  // namespace stab::rt
