// SPDX-License-Identifier: MIT
// The functions that each allocator has, functions that allocators share, and functions that open
// the allocators without a header of their own. A process chooses one allocator before its first
// block.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/options.h"

namespace stab::heap {

// Any size is valid; a request of zero bytes gets a block, too. Blocks are aligned to 16 bytes. If
// there is no memory, the result is nullptr, errno is ENOMEM, and an old block is unchanged.
struct Allocator {
  const char* name;
  void* (*allocate)(size_t size);
  void* (*allocate_zeroed)(size_t size);
  void* (*allocate_aligned)(size_t alignment, size_t size);  // alignment is a power of two
  void (*release)(void* block);                              // nullptr is ignored
  void* (*resize)(void* block, size_t size);                 // block is not nullptr, size not 0
  size_t (*usable)(void* block);                             // block is not nullptr
};

// The default: each block is drawn from a bag of free slots, which slabs fill.
extern const Allocator shuffled;
// The program's own allocator, but malloc() swaps its small blocks.
extern const Allocator layer;
// The paper's layer: each block of a base, which open_swapped() sets, is swapped with one of 256.
extern const Allocator layered;
// Each block is a random free slot of its class.
extern const Allocator bitmap;
// The system's allocator, and the same with some sizes raised.
extern const Allocator plain;
extern const Allocator stretched;

// Sets errno to ENOMEM and returns nullptr.
void* no_memory();

// Functions that the allocators over slabs share.

// Sets a block to zero, up to the next multiple of 16 bytes: slots and blocks have such sizes.
inline void clear(void* block, size_t size) {
  using Vector = long long __attribute__((vector_size(16)));
  if (size > 1024) {
    __asm__ volatile("rep stosb" : "+D"(block), "+c"(size) : "a"(0) : "memory");
    return;
  }
  auto* at = static_cast<Vector*>(block);
  for (size_t i = 0; i < (size + 15) / 16; ++i) {
    __asm__ volatile("" ::: "memory");
    at[i] = Vector{0, 0};
  }
}

void copy(void* to, const void* from, size_t size);

// Moves the contents, as far as they fit, to a new block of this allocator and releases the old
// one. Returns nullptr, and leaves the old block unchanged, if there is no memory.
void* move_block(const Allocator& allocator, void* block, size_t old_size, size_t size);
// A slot that holds `size` is kept unless most of it would be unused.
inline bool stays(size_t slot, size_t size) {
  return size <= slot && (size > slot / 2 || slot <= 64);
}

// The default allocator. A block is drawn at random from the bag of its thread and class, and a
// freed slot goes back into the bag. So a block is one of about 200 free slots, both fresh and
// recently used ones, and costs one random number.
//
// A class of small objects that has grown beyond a limit keeps objects near each other if they are
// allocated one after the other: in memory that exceeds the caches, random order can multiply the
// run time. The class hands out the fresh slots of each slab by ascending address, starting at a
// random one, and draws freed slots from the newest few.
struct ShuffledSettings {
  uint64_t seed = 0;
  uint64_t bag_size = 256;
  // The limit in bytes for classes of slots up to 144 bytes. For slots up to 528 bytes the limit is
  // four times as large; larger slots have no limit. UINT64_MAX: no class has a limit.
  uint64_t order_from = uint64_t{256} << 10;
};
void open_shuffled(const ShuffledSettings& settings);

// The system's allocator, but one request in 32 is raised to the next size class, so that every
// block behind a raised one gets another address. cache.h counts the blocks, and the bytes that
// were requested.
void open_stretched(uint64_t seed);

// The paper's shuffling layer over a base allocator that is not random. Each thread has an array of
// N blocks for each class. To allocate, a block from the base is swapped with a random one in the
// array, which the program gets. To free, the program's block is swapped with a random one, which
// goes back to the base.
//
// The base power2 has slabs of power-of-two sizes, whose slots are taken in the order of addresses.
void open_swapped(rt::Base base, uint64_t seed, uint64_t array_size);

// For fork.
void lock_tlsf();
void unlock_tlsf();

}  // namespace stab::heap
