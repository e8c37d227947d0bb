// SPDX-License-Identifier: MIT
// Functions that the allocators over slabs share.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/malloc/allocators/allocator.h"

namespace stab::heap {

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

}  // namespace stab::heap
