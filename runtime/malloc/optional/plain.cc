// SPDX-License-Identifier: MIT
#include "runtime/malloc/allocators/allocator.h"
#include "runtime/malloc/allocators/system.h"

namespace stab::heap {
namespace {

void* allocate(size_t size) {
  return system_heap.allocate(size);
}
void* allocate_zeroed(size_t size) {
  return system_heap.allocate_zeroed(1, size);
}
void* allocate_aligned(size_t alignment, size_t size) {
  return system_heap.allocate_aligned(alignment, size);
}
void release(void* block) {
  system_heap.release(block);
}
void* resize(void* block, size_t size) {
  return system_heap.resize(block, size);
}

}  // namespace

constinit const Allocator plain = {"libc",  allocate, allocate_zeroed, allocate_aligned,
                                   release, resize,   usable_in_system};

}  // namespace stab::heap
