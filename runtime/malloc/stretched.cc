// SPDX-License-Identifier: MIT
#include "runtime/malloc/stretched.h"

#include "runtime/malloc/allocator.h"
#include "runtime/malloc/system.h"
#include "runtime/random.h"

namespace stab::heap {
namespace {

constexpr uint64_t one_in = 32;
constexpr size_t step = 16;  // what libc tells apart; for large sizes an eighth

uint64_t seed_of_streams;
uint64_t streams_opened;
constinit __thread rt::Random stream __attribute__((tls_model("initial-exec"))) = rt::Random(0);
__thread bool is_open __attribute__((tls_model("initial-exec")));

size_t raised(size_t size) {
  if (!is_open) {
    is_open = true;
    const uint64_t number = __atomic_fetch_add(&streams_opened, 1, __ATOMIC_RELAXED);
    rt::Random mix(seed_of_streams + number * 0x9e3779b97f4a7c15u);
    stream = rt::Random(mix.next());
  }
  if (stream.below(one_in) != 0) return size;
  const size_t more = size < 1024 ? step : size / 8;
  return size + more < size ? size : size + more;
}

void* allocate(size_t size) {
  return system_heap.allocate(raised(size));
}
void* allocate_zeroed(size_t size) {
  return system_heap.allocate_zeroed(1, raised(size));
}
void* allocate_aligned(size_t alignment, size_t size) {
  return system_heap.allocate_aligned(alignment, raised(size));
}
void release(void* block) {
  system_heap.release(block);
}
void* resize(void* block, size_t size) {
  return system_heap.resize(block, size);
}

}  // namespace

constinit const Allocator stretched = {"stretched", allocate, allocate_zeroed, allocate_aligned,
                                       release,     resize,   usable_in_system};

void open_stretched(uint64_t seed) {
  seed_of_streams = seed;
}

}  // namespace stab::heap
