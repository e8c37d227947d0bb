// SPDX-License-Identifier: MIT
// As in DieHard (Berger, Zorn: PLDI 2006): sizes are powers of two, and each block is a random free
// slot among all slots of its class. At most half of a class's slots are in use, so that a freed
// slot is not used again soon. Bitmaps lie apart from the slots, and each class has a lock.
//
// Invariants:
//   1. A span counts the bits of its free slots. A class counts the slots of its spans and the
//      slots in use.
#pragma once

#include <stdint.h>

#include "runtime/malloc/memory/cache.h"

namespace stab::heap {

void open_bitmap(uint64_t seed);
CacheCounts bitmap_counts();  // it takes no lock

void lock_bitmap();
void unlock_bitmap();
void reseed_bitmap(uint64_t seed);

}  // namespace stab::heap
