// SPDX-License-Identifier: MIT
// The layer: the program keeps its own allocator, and malloc() swaps each small block with a random
// one of those that its thread holds in a bag. Everything else goes straight to that allocator, so
// its thresholds, mappings, trimming and errors stay the same. All blocks belong to that allocator,
// so the layer isn't needed to free or resize one.
//
// Invariants:
//   1. All blocks of a bag were requested with the size of its class, which is the largest request
//      of the class.
//   2. A bag holds at most 256 blocks and 16 KB. Beyond 4 KB it grows only while its thread holds
//      at most 64 KB, or one block for each eight that it took and did not give back.
//   3. A thread holds nothing after 1,000 calls of free() without a malloc() between them, after
//      malloc_trim(), and at its end.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/malloc/memory/cache.h"

namespace stab::heap {

// Larger requests go straight to the program's allocator.
constexpr size_t layer_bound = 1024;

// To be called after find_system_heap().
void open_layer(uint64_t seed);

// Gives back the blocks that the calling thread holds.
void flush_layer();

// Returns the sums over all threads. `in_order` is the bytes of requests beyond the bound. Takes no
// lock.
CacheCounts layer_counts();
// The blocks that the calling thread holds. Only tests ask for them: no other function shows
// invariants 2 and 3.
struct LayerHolds {
  uint64_t blocks;
  uint64_t bytes;
};
LayerHolds layer_holds();

// For fork.
void lock_layer();
void unlock_layer();
void reseed_layer(uint64_t seed);

}  // namespace stab::heap
