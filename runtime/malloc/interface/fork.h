// SPDX-License-Identifier: MIT
// Forking while other threads use the heap.
#pragma once

#include <stdint.h>

namespace stab::heap {

// From now on fork() waits until no thread is in the middle of something. The child has a stream of
// random numbers of its own, which follows from the seed and from how many forks came before. What
// other threads kept in their bags is lost to it.
void survive_forks(uint64_t seed);

}  // namespace stab::heap
