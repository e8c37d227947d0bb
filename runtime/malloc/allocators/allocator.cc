// SPDX-License-Identifier: MIT
#include "runtime/malloc/allocators/allocator.h"

#include <errno.h>

#include "runtime/base/memory.h"

namespace stab::heap {

void copy(void* to, const void* from, size_t size) {
  rt::copy_bytes(to, from, size);
}

void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

void* move_block(const Allocator& allocator, void* block, size_t old_size, size_t size) {
  void* moved = allocator.allocate(size);
  if (moved == nullptr) return nullptr;
  copy(moved, block, old_size < size ? old_size : size);
  allocator.release(block);
  return moved;
}

}  // namespace stab::heap
