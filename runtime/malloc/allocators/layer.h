// SPDX-License-Identifier: MIT
// The layer: the program keeps its own allocator, and malloc() swaps each small block with a random
// one of those that its thread holds in a bag. Everything else goes straight to that allocator, so
// its thresholds, mappings, trimming and errors stay what they are. All blocks are its own: who
// frees or resizes one needs no layer.
//
// Invariants:
//   1. All blocks of a bag were requested with the size of its class, and no request is larger.
//   2. A bag holds at most 256 blocks and 16 KB. Beyond 4 KB it grows only while its thread holds at
//      most 64 KB, or one block for each eight that it took and did not give back.
//   3. A thread holds nothing after 1,000 calls of free() without a malloc() between them, after
//      malloc_trim(), and at its end.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/malloc/memory/cache.h"

namespace stab::heap {

// Larger requests go straight to the program's allocator.
constexpr size_t layer_bound = 1024;

// Behind find_system_heap().
void open_layer(uint64_t seed);

// Gives back what the calling thread holds.
void flush_layer();

// Sums over all threads. `in_order` are the bytes beyond the bound. It takes no lock.
CacheCounts layer_counts();
// What the calling thread holds.
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
