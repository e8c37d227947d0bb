// SPDX-License-Identifier: MIT
// What every allocator offers. There is one at a time, chosen before the first block.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace stab::heap {

// Sizes may be anything; a request of zero bytes gives a block, too. Blocks are aligned to 16
// bytes. nullptr, with errno set to ENOMEM: there is no memory; the old block stays as it was.
struct Allocator {
  const char* name;
  void* (*allocate)(size_t size);
  void* (*allocate_zeroed)(size_t size);
  void* (*allocate_aligned)(size_t alignment, size_t size);  // a power of two
  void (*release)(void* block);                              // nullptr is ignored
  void* (*resize)(void* block, size_t size);                 // neither is nullptr or zero
  size_t (*usable)(void* block);                             // not nullptr
};

// Bag of free slots over slabs: the default.
extern const Allocator shuffled;
// The paper's: each block is swapped with one of 256, over a base that is set by open_layer().
extern const Allocator layered;
// Each block at a random free place of its class.
extern const Allocator bitmap;
// The system's, and the system's with some sizes raised.
extern const Allocator plain;
extern const Allocator stretched;

// ENOMEM, and nullptr.
void* no_memory();

}  // namespace stab::heap
