// SPDX-License-Identifier: MIT
// Forking while other threads use the heap.
#pragma once

#include <stdint.h>

namespace stab::heap {

// From now on fork() waits until no thread holds a lock of the heap. (While there is only one
// thread, it doesn't wait, because a handler of that thread may fork.) The child draws from its own
// stream of random numbers, which follows from the seed and the number of forks before it. It
// cannot use the slots that were in the bags of other threads.
void survive_forks(uint64_t seed);

}  // namespace stab::heap
