// SPDX-License-Identifier: MIT
#include "runtime/malloc/memory/cache.h"

#include <pthread.h>

#include "runtime/base/memory.h"
#include "runtime/malloc/memory/arena.h"

namespace stab::heap {
namespace {

constexpr uint32_t first_capacity = 16;
constexpr uint32_t least_limit = 8;
constexpr uint64_t most_bag_bytes = uint64_t{512} << 10;
constexpr uint64_t least_bag_bytes = uint64_t{8} << 10;  // two pages, so that bits 0 to 11 vary
#if __has_feature(thread_sanitizer)
constexpr unsigned destructor_rounds = 1;  // ThreadSanitizer's own data is gone in the last round
#else
constexpr unsigned destructor_rounds = 4;  // PTHREAD_DESTRUCTOR_ITERATIONS
#endif

Source where_from;
uint32_t limits[most_classes];

Lock registry_lock;
uint64_t seed_of_streams;
uint64_t caches_made;
Cache* all;
Cache* waiting;
pthread_key_t key;
bool key_made;

Lock shared_lock;
Cache* shared_cache() {
  alignas(Cache) static unsigned char storage[sizeof(Cache)];
  return reinterpret_cast<Cache*>(storage);
}

__thread bool thread_ends __attribute__((tls_model("initial-exec")));
Cache** own_of_first;
constexpr uint32_t most_given_without = 64;
__thread uint32_t given_without_cache __attribute__((tls_model("initial-exec")));

rt::Random stream(uint64_t number) {
  rt::Random mix(seed_of_streams + number * 0x9e3779b97f4a7c15u);
  return rt::Random(mix.next());
}

void add(CacheCounts& counts, const Cache& cache) {
  for (unsigned c = 0; c < where_from.classes->count; ++c) {
    const Bag& bag = cache.bags[c];
    const uint64_t size = where_from.classes->size[c];
    const uint64_t near_from = load(bag.near_from);
    const uint64_t taken = load(bag.taken);
    counts.taken += taken;
    counts.given += load(bag.given);
    counts.bytes += taken * size;
    if (near_from != 0 && taken >= near_from) counts.in_order += (taken - near_from + 1) * size;
  }
  counts.taken += load(cache.others.taken);
  counts.given += load(cache.others.given);
  counts.bytes += load(cache.others.bytes);
  counts.in_order += load(cache.others.in_order);
}

// Gives all slots back, but keeps the counts of the bag.
void empty_bag(Cache& cache, unsigned c) {
  Bag& bag = cache.bags[c];
  if (bag.row.bits != 0) where_from.give_row(c, bag.row);
  if (bag.count != 0) where_from.give(c, bag.slots, bag.count);
  drop_metadata(bag.slots, bag.capacity * sizeof(void*));
  keep_apart(cache, c, where_from.classes->size[c]);
  bag.slots = nullptr;
  bag.count = bag.low = bag.capacity = bag.target = 0;
  bag.row = {};
}

// Other destructors may still allocate and free, so the cache stays until the last round.
void thread_ended(void* argument) {
  auto* cache = static_cast<Cache*>(argument);
  if (++cache->rounds < destructor_rounds) {
    pthread_setspecific(key, cache);
    return;
  }
  own_cache = nullptr;
  thread_ends = true;
  for (unsigned c = 0; c < where_from.classes->count; ++c) empty_bag(*cache, c);
  end_if_damaged();
  const Guard guard(registry_lock);
  cache->rounds = 0;
  cache->next_waiting = waiting;
  waiting = cache;
}

Cache* make_cache() {
  const Guard guard(registry_lock);
  Cache* cache = waiting;
  if (cache != nullptr) {
    waiting = cache->next_waiting;
  } else {
    cache = static_cast<Cache*>(new_metadata(sizeof(Cache)));
    if (cache == nullptr) return nullptr;
    cache->next = all;
    __atomic_store_n(&all, cache, __ATOMIC_RELEASE);
  }
  cache->random = stream(caches_made++);
  return cache;
}

// The first thread of the process needs no destructor, because the process ends with it. It is known
// without a system call, which a sandbox may forbid. pthread_setspecific() may allocate: own_cache
// must be set before.
void destroy_at_end(Cache* cache) {
  if (&own_cache == own_of_first) return;
  {
    const Guard guard(registry_lock);
    if (!key_made) key_made = pthread_key_create(&key, thread_ended) == 0;
  }
  if (key_made) pthread_setspecific(key, cache);
}

unsigned take_from_slabs(unsigned c, void** slots, unsigned count) {
  return slabs.take(c, slots, count);
}
void give_to_slabs(unsigned c, void* const* slots, unsigned count) {
  slabs.give(c, slots, count);
}
void give_row_to_slabs(unsigned c, const Row& row) {
  slabs.give_row(c, row);
}

}  // namespace

__thread Cache* own_cache = nullptr;

Source slab_source(const Classes& classes) {
  return {&classes, take_from_slabs, give_to_slabs, give_row_to_slabs};
}

void open_caches(const Source& source, uint64_t seed, uint64_t bag_size) {
  where_from = source;
  seed_of_streams = seed;
  own_of_first = &own_cache;
  for (unsigned c = 0; c < source.classes->count; ++c) {
    const uint64_t by_size = most_bag_bytes / source.classes->size[c];
    const uint64_t least = least_bag_bytes / source.classes->size[c];
    const uint64_t wanted = bag_size > least ? bag_size : least;
    const uint64_t limit = wanted < by_size ? wanted : by_size;
    limits[c] = limit < least_limit ? least_limit : static_cast<uint32_t>(limit);
  }
  shared_cache()->random = stream(UINT64_MAX);
}

const Source& source() {
  return where_from;
}

uint32_t bag_limit(unsigned c) {
  return limits[c];
}

AnyCache::AnyCache(CacheFor what) : cache_(own_cache) {
  if (cache_ != nullptr) return;
  const bool gives_few = what == CacheFor::giving && given_without_cache < most_given_without;
  if (gives_few) ++given_without_cache;
  if (!thread_ends && !gives_few) cache_ = make_cache();
  if (cache_ != nullptr) {
    own_cache = cache_;
    destroy_at_end(cache_);
    return;
  }
  shared_lock.lock();
  cache_ = shared_cache();
}

AnyCache::~AnyCache() {
  if (cache_ != shared_cache()) return;
  shared_lock.unlock();
  end_if_damaged();
}

bool enlarge(Bag& bag, unsigned c) {
  const uint32_t most = 2 * limits[c];
  if (bag.capacity >= most) return false;
  uint32_t capacity = bag.capacity == 0 ? first_capacity : 2 * bag.capacity;
  if (capacity > most) capacity = most;
  auto** slots = static_cast<void**>(new_metadata(capacity * sizeof(void*)));
  if (slots == nullptr) return false;
  if (bag.count != 0) rt::copy_bytes(slots, bag.slots, bag.count * sizeof(void*));
  drop_metadata(bag.slots, bag.capacity * sizeof(void*));
  bag.slots = slots;
  bag.capacity = capacity;
  return true;
}

CacheCounts cache_counts() {
  CacheCounts counts;
  if (where_from.classes == nullptr) return counts;
  for (const Cache* cache = __atomic_load_n(&all, __ATOMIC_ACQUIRE); cache != nullptr;
       cache = cache->next)
    add(counts, *cache);
  add(counts, *shared_cache());
  return counts;
}

void lock_caches() {
  shared_lock.lock();
  registry_lock.lock();
}

void unlock_caches() {
  registry_lock.unlock();
  shared_lock.unlock();
}

void reseed_caches(uint64_t seed) {
  seed_of_streams = seed;
  caches_made = 0;
  if (own_cache != nullptr) own_cache->random = stream(caches_made++);
  shared_cache()->random = stream(UINT64_MAX);
}

}  // namespace stab::heap
