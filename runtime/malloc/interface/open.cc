// SPDX-License-Identifier: MIT
// Opens the allocator that the options ask for, and keeps the heap whole when the program forks
// while other threads use it.
#include "runtime/malloc/interface/open.h"

#include <stdint.h>

#include "runtime/base/check.h"
#include "runtime/base/random.h"
#include "runtime/malloc/allocators/allocator.h"
#include "runtime/malloc/allocators/bitmap.h"
#include "runtime/malloc/allocators/layer.h"
#include "runtime/malloc/memory/arena.h"
#include "runtime/malloc/memory/cache.h"
#include "runtime/malloc/memory/lock.h"
#include "runtime/malloc/memory/slabs.h"

extern "C" __attribute__((weak)) int __register_atfork(void (*)(), void (*)(), void (*)(), void*);

namespace stab::heap {
namespace {

uint64_t seed_of_process;
uint64_t forks;
bool locked;
bool is_bitmap;  // if not, fork leaves the allocator's data alone, which fills several pages

// The locks are taken in the order that holds everywhere else, so that no two threads wait for each
// other. If there is only one thread, a lock can be taken only because a handler interrupted its
// owner to fork here. The rest of the heap is intact. If there are more threads, a handler that
// forks inside malloc may wait for ever, as in libc's heap: another thread may hold a lock that
// comes first in the order, and wait for the interrupted thread.
void before_fork() {
  if (is_single_threaded()) {
    ++forks;
    return;
  }
  lock_layer();
  lock_caches();
  if (is_bitmap) lock_bitmap();
  slabs.lock_all();
  lock_tlsf();
  arena.lock.lock();
  metadata_lock.lock();
  holds_every_lock = true;
  locked = true;
  ++forks;
}

void after_fork() {
  if (!locked) return;
  locked = false;
  holds_every_lock = false;
  metadata_lock.unlock();
  arena.lock.unlock();
  unlock_tlsf();
  slabs.unlock_all();
  if (is_bitmap) unlock_bitmap();
  unlock_caches();
  unlock_layer();
}

void after_fork_in_child() {
  after_fork();
  rt::Random mix(seed_of_process + forks * 0x9e3779b97f4a7c15u);
  seed_of_process = mix.next();
  forks = 0;
  reseed_caches(mix.next());
  slabs.reseed(mix.next());
  const uint64_t of_bitmap = mix.next();
  if (is_bitmap) reseed_bitmap(of_bitmap);
  reseed_layer(mix.next());
  reseed_large(mix.next());
}

// From now on fork() waits until no thread holds a lock of the heap. (While there is only one
// thread, it doesn't wait, because a handler of that thread may fork.) The child draws from its own
// stream of random numbers, which follows from the seed and the number of forks before it. It
// cannot use the slots that were in the bags of other threads.
void survive_forks(uint64_t seed) {
  rt::Random mix(~seed);
  seed_of_process = mix.next();
  if (&__register_atfork != nullptr)
    __register_atfork(before_fork, after_fork, after_fork_in_child, nullptr);
}

ShuffledSettings shuffled_settings(const rt::Options& options, uint64_t seed) {
  return {.seed = seed, .bag_size = options.heap_bag, .order_from = options.heap_order};
}

}  // namespace

const Allocator& open_allocator(const rt::Options& options, uint64_t seed) {
  static bool is_open;
  STAB_ALWAYS(Choice, 2, !is_open);
  is_open = true;
  is_bitmap = options.allocator == rt::Base::bitmap;
  switch (options.allocator) {
#define STAB_CASE(name, allocator, ...) \
  case rt::Base::name:                  \
    __VA_ARGS__;                        \
    survive_forks(seed);                \
    return allocator;
    STAB_EACH_ALLOCATOR(STAB_CASE)
#undef STAB_CASE
  }
  __builtin_unreachable();
}

}  // namespace stab::heap
