// SPDX-License-Identifier: MIT
// A thread's cache: a bag of free slots for each class. The thread draws blocks from the bag, and
// freed slots return to it. A lock is taken only when a bag is filled or emptied.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/random.h"
#include "runtime/malloc/memory/lock.h"
#include "runtime/malloc/memory/misuse.h"
#include "runtime/malloc/memory/slabs.h"

namespace stab::heap {

struct Bag {
  void** slots;
  uint32_t count;
  uint32_t low;       // at this count or less the bag is refilled
  uint32_t capacity;  // the length of `slots`
  uint32_t target;    // the count to which it is filled
  union {
    Row row;       // for the default allocator: fresh slots that are taken in order
    void* newest;  // for the layer: the block that was put there last
  };
  uint64_t taken;      // number of blocks that the program got
  uint64_t given;      // number of blocks that it gave back
  uint64_t near_from;  // `taken` of the first block that was kept near others; 0: no block was
};
static_assert(sizeof(Bag) == 64);

struct CacheCounts {
  uint64_t taken = 0;  // number of blocks
  uint64_t given = 0;
  uint64_t bytes = 0;     // of the blocks that were taken
  uint64_t in_order = 0;  // the part of `bytes` in blocks that were kept near others
};

struct Cache {
  Bag bags[most_classes];
  rt::Random random;
  CacheCounts others;   // blocks from no bag, and blocks kept near others until keep_apart()
  Cache* next;          // the list of all caches, which live as long as the process
  Cache* next_waiting;  // the list of caches that no thread owns
  unsigned rounds;      // how often the destructor of thread-specific data has run
};

// The functions that supply bags with slots.
struct Source {
  const Classes* classes;
  unsigned (*take)(unsigned c, void** slots, unsigned count);
  void (*give)(unsigned c, void* const* slots, unsigned count);
  void (*give_row)(unsigned c, const Row& row);
};

// Supplies slots from slabs of these classes.
Source slab_source(const Classes& classes);

// The cache of the calling thread. It is nullptr if the thread has no block yet, or is ending.
extern __thread Cache* own_cache __attribute__((tls_model("initial-exec")));

// To be called before the first block. `bag_size` is the limit of a bag of small slots.
void open_caches(const Source& source, uint64_t seed, uint64_t bag_size);
const Source& source();
// The number of slots that a bag of this class is meant to choose from.
uint32_t bag_limit(unsigned c);

enum class CacheFor { taking, giving };

// The cache of the thread, which is made if the thread has none. A thread that is about to end, or
// for whose cache there is no memory, borrows the cache that all such threads share, and holds its
// lock meanwhile. So does a thread that has only given few blocks back: libc frees memory of its own
// when a thread has ended, and then nothing would return a cache.
class AnyCache {
 public:
  explicit AnyCache(CacheFor what = CacheFor::taking);
  ~AnyCache();
  AnyCache(const AnyCache&) = delete;
  AnyCache& operator=(const AnyCache&) = delete;
  Cache& operator*() const { return *cache_; }

 private:
  Cache* cache_;
};

// Ends the program if slots were given back that were not the program's. A shared cache is locked
// here, so AnyCache ends the program after it has unlocked it.
inline void end_unless_shared(const Cache& cache) {
  if (&cache == own_cache) end_if_damaged();
}

// Doubles the capacity, up to twice the limit. Returns false if the bag did not grow.
bool enlarge(Bag& bag, unsigned c);

// The sums over all threads since the program's start. It takes no lock: a signal handler may ask.
CacheCounts cache_counts();

// For fork. The child keeps the cache of the calling thread and gets another random stream.
void lock_caches();
void unlock_caches();
void reseed_caches(uint64_t seed);

// A count is written by one thread and read by all.
inline uint64_t load(const uint64_t& count) {
  return __atomic_load_n(&count, __ATOMIC_RELAXED);
}
inline void increase(uint64_t& count, uint64_t by = 1) {
  __atomic_store_n(&count, load(count) + by, __ATOMIC_RELAXED);
}

// From now on the blocks of the class are not kept near others.
inline void keep_apart(Cache& cache, unsigned c, uint32_t slot_size) {
  Bag& bag = cache.bags[c];
  if (bag.near_from == 0) return;
  increase(cache.others.in_order, (bag.taken + 1 - bag.near_from) * slot_size);
  __atomic_store_n(&bag.near_from, 0, __ATOMIC_RELAXED);
}

// Returns a random index below `count`, from 32 random bits.
inline uint32_t pick(rt::Random& random, uint32_t count) {
  return static_cast<uint32_t>(((random.next() >> 32) * count) >> 32);
}

}  // namespace stab::heap
