// SPDX-License-Identifier: MIT
// The functions that each allocator has. A process chooses one allocator before its first block.
#pragma once

#include <stddef.h>
#include <stdint.h>

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

}  // namespace stab::heap
