// SPDX-License-Identifier: MIT
#include "runtime/malloc/allocators/allocator.h"
#include "runtime/malloc/allocators/system.h"
#include "runtime/malloc/memory/cache.h"

namespace stab::heap {
namespace {

constexpr uint64_t one_in = 32;
constexpr size_t step = 16;  // libc's sizes differ by this; from 1024 bytes on, an eighth is added

// libc maps each block of this size or more on its own.
constexpr size_t mapped_from = size_t{128} << 10;

size_t raised(size_t size) {
  const AnyCache cache;
  if ((*cache).random.below(one_in) != 0) return size;
  const size_t more = size < 1024 ? step : size / 8;
  return size + more < size ? size : size + more;
}

void* counted(void* block, size_t size) {
  if (block == nullptr) return nullptr;
  const AnyCache cache;
  CacheCounts& counts = (*cache).others;
  increase(counts.taken);
  increase(counts.bytes, size);
  if (size >= mapped_from) increase(counts.in_order, size);
  return block;
}

void count_given() {
  const AnyCache cache(CacheFor::giving);
  increase((*cache).others.given);
}

void* allocate(size_t size) {
  return counted(system_heap.allocate(raised(size)), size);
}
void* allocate_zeroed(size_t size) {
  return counted(system_heap.allocate_zeroed(1, raised(size)), size);
}
void* allocate_aligned(size_t alignment, size_t size) {
  return counted(system_heap.allocate_aligned(alignment, raised(size)), size);
}
void release(void* block) {
  if (block == nullptr) return;
  count_given();
  system_heap.release(block);
}
void* resize(void* block, size_t size) {
  const auto before = reinterpret_cast<uint64_t>(block);
  void* resized = system_heap.resize(block, size);
  if (resized == nullptr || reinterpret_cast<uint64_t>(resized) == before) return resized;
  count_given();
  return counted(resized, size);
}

}  // namespace

constinit const Allocator stretched = {"stretched", allocate, allocate_zeroed, allocate_aligned,
                                       release,     resize,   usable_in_system};

void open_stretched(uint64_t seed) {
  open_caches(slab_source(fine_classes), seed, 0);
}

}  // namespace stab::heap
