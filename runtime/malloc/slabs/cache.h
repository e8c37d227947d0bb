// SPDX-License-Identifier: MIT
// What a thread keeps of the heap: for each class a bag of slots, from which it takes at random and
// to which it gives. No lock is taken but when a bag is filled or emptied.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/random.h"
#include "runtime/malloc/memory/lock.h"
#include "runtime/malloc/memory/misuse.h"
#include "runtime/malloc/slabs/classes.h"
#include "runtime/malloc/slabs/slabs.h"

namespace stab::heap {

struct Bag {
  void** slots;
  uint32_t count;
  uint32_t low;       // below this it is filled again
  uint32_t capacity;  // of slots
  uint32_t target;    // to how many it is filled
  Row row;            // slots that are taken in order
  uint64_t taken;     // blocks that the program got, and gave back
  uint64_t given;
  uint64_t near_from;  // the number of the first block that it kept near others; 0: does not do so
};
static_assert(sizeof(Bag) == 64);

struct CacheCounts {
  uint64_t taken = 0;  // blocks
  uint64_t given = 0;
  uint64_t bytes = 0;     // of the blocks that were taken
  uint64_t in_order = 0;  // of these, kept near others
};

struct Cache {
  Bag bags[most_classes];
  rt::Random random;
  CacheCounts others;   // what bags do not count: blocks from none, and what one kept near before
  Cache* next;          // of all that were ever made, which are never given back
  Cache* next_waiting;  // of those that wait for a thread
  unsigned rounds;      // of the destructors of thread-specific data
};

// Where bags get their slots from.
struct Source {
  const Classes* classes;
  unsigned (*take)(unsigned c, void** slots, unsigned count);
  void (*give)(unsigned c, void* const* slots, unsigned count);
  void (*give_row)(unsigned c, const Row& row);
};

// From slabs of these classes.
Source slab_source(const Classes& classes);

// Of the calling thread; nullptr before its first block and while it ends.
extern __thread Cache* own_cache __attribute__((tls_model("initial-exec")));

// Before the first block. `bag_size`: slots in a bag of small ones.
void open_caches(const Source& source, uint64_t seed, uint64_t bag_size);
const Source& source();
// Slots from which a bag of this class is meant to choose.
uint32_t bag_limit(unsigned c);

// For what a thread does without a cache at hand. It makes one, or, when the thread is about to end
// or there is no memory, borrows the one that all such threads share, whose lock it then holds.
class AnyCache {
 public:
  AnyCache();
  ~AnyCache();
  AnyCache(const AnyCache&) = delete;
  AnyCache& operator=(const AnyCache&) = delete;
  Cache& operator*() const { return *cache_; }

 private:
  Cache* cache_;
};

// After slots were given back: ends the program if one was none of its, unless the cache is shared.
// Then its lock is held, and it is AnyCache that does this when it lets go.
inline void end_unless_shared(const Cache& cache) {
  if (&cache == own_cache) end_if_damaged();
}

// Makes room for twice as many slots, at most twice the limit. Returns false if it did not grow.
bool enlarge(Bag& bag, unsigned c);

// Of all threads, since the program's start. Takes no lock, so a signal handler may ask.
CacheCounts cache_counts();

// For fork. The child goes on with the calling thread's cache and a stream of its own.
void lock_caches();
void unlock_caches();
void reseed_caches(uint64_t seed);

// Counts are written by one thread, and read by all.
inline uint64_t load(const uint64_t& count) {
  return __atomic_load_n(&count, __ATOMIC_RELAXED);
}
inline void increase(uint64_t& count, uint64_t by = 1) {
  __atomic_store_n(&count, load(count) + by, __ATOMIC_RELAXED);
}

// From now on the class's blocks are not kept near others.
inline void keep_apart(Cache& cache, unsigned c, uint32_t slot_size) {
  Bag& bag = cache.bags[c];
  if (bag.near_from == 0) return;
  increase(cache.others.in_order, (bag.taken + 1 - bag.near_from) * slot_size);
  __atomic_store_n(&bag.near_from, 0, __ATOMIC_RELAXED);
}

// Picks one of `count` with 32 fresh bits.
inline uint32_t pick(rt::Random& random, uint32_t count) {
  return static_cast<uint32_t>(((random.next() >> 32) * count) >> 32);
}

}  // namespace stab::heap
