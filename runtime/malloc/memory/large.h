// SPDX-License-Identifier: MIT
// Blocks that are larger than any slot. Each has a span of its own; with `colour` the block starts
// at a random multiple of 64 bytes in it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/malloc/memory/arena.h"

namespace stab::heap {

void open_large(bool colour, uint64_t seed);

// `alignment` is a power of two; `zeroed` tells whether the block is zero. Returns nullptr if there
// is no memory, or if the size exceeds 64 TB.
void* take_large(size_t size, size_t alignment, bool& zeroed);
void give_large(Span* span);
// Returns the block with its contents, as far as they fit; the block may have moved. Returns
// nullptr, and leaves the block unchanged, if there is no memory.
void* resize_large(Span* span, size_t size);
// Returns 0 if the block has been given back.
inline size_t room_in_large(const Span* span) {
  return span->purpose == Purpose::large ? static_cast<size_t>(span->end() - span->block) : 0;
}

struct LargeCounts {
  uint64_t taken = 0;
  uint64_t given = 0;
  uint64_t bytes = 0;
};
LargeCounts large_counts();

void lock_large();
void unlock_large();

}  // namespace stab::heap
