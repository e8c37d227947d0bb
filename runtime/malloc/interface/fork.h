// SPDX-License-Identifier: MIT
// Forking while other threads use the heap.
#pragma once

#include <stdint.h>

namespace stab::heap {

// From now on fork() waits until no thread holds a lock of the heap. (While there is one thread it
// waits for nothing: one of its handlers may fork.) The child draws from a stream of random numbers
// of its own, which follows from the seed and the number of forks before it. It cannot use the
// slots that were in the bags of other threads.
void survive_forks(uint64_t seed);

}  // namespace stab::heap
