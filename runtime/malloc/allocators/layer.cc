// SPDX-License-Identifier: MIT
#include "runtime/malloc/allocators/layer.h"

#include <errno.h>
#include <pthread.h>

#include "runtime/base/check.h"
#include "runtime/base/os.h"
#include "runtime/base/random.h"
#include "runtime/malloc/allocators/allocator.h"
#include "runtime/malloc/allocators/system.h"
#include "runtime/malloc/memory/lock.h"

namespace stab::heap {
namespace shuffling {
namespace {

constexpr size_t step = 8;  // no allocator tells smaller differences apart
constexpr unsigned steps = layer_bound / step;
constexpr uint32_t most_blocks = 256;
constexpr uint32_t most_bytes = 16384;
constexpr uint32_t free_bytes = 4096;          // for each bag: two cache ways of 4 KB are random
constexpr uint64_t free_bytes_of_all = 65536;  // for each thread
constexpr uint64_t live_blocks_for_one = 8;
constexpr uint64_t frees_until_flush = 1000;
constexpr unsigned destructor_rounds = 4;  // PTHREAD_DESTRUCTOR_ITERATIONS

struct Bag {
  void** slots;
  uint32_t count;
  uint32_t limit;
};

struct Bags {
  rt::Random random;
  uint64_t given;          // number of blocks that the thread freed
  uint64_t given_at_take;  // `given` at its last malloc
  CacheCounts counts;      // `given` is counted above
  uint64_t held;           // number of blocks in all bags
  uint64_t held_bytes;
  Bags* next;          // the list of all Bags, which live as long as the process
  Bags* next_waiting;  // the list of those that no thread owns
  unsigned rounds;     // how often the destructor of thread-specific data has run
  Bag bag[steps + 1];
};

// Written once, by open_layer.
uint8_t class_of[steps + 1];  // by the request in steps, rounded up
uint32_t class_size[steps + 1];
unsigned classes;
uint64_t bytes_of_bags;  // including their slots

Lock registry_lock;
uint64_t seed_of_streams;
uint64_t streams;
Bags* all;
Bags* waiting;
pthread_key_t key;
bool key_made;

__thread Bags* own __attribute__((tls_model("initial-exec")));
__thread bool ends __attribute__((tls_model("initial-exec")));
Bags** own_of_first;

rt::Random stream(uint64_t number) {
  rt::Random mix(seed_of_streams + number * 0x9e3779b97f4a7c15u);
  return rt::Random(mix.next());
}

uint32_t limit_of(unsigned c) {
  const uint32_t by_size = most_bytes / class_size[c];
  return by_size < most_blocks ? by_size : most_blocks;
}

void flush(Bags& bags) {
  bags.given_at_take = bags.given;
  if (bags.held == 0) return;
  const int before = errno;
  for (unsigned c = 0; c < classes; ++c) {
    Bag& bag = bags.bag[c];
    while (bag.count != 0) system_heap.release(bag.slots[--bag.count]);
  }
  bags.held = bags.held_bytes = 0;
  errno = before;
}

// Other destructors may still take blocks, so the bags stay until the last round.
void thread_ended(void* argument) {
  auto* bags = static_cast<Bags*>(argument);
  if (++bags->rounds < destructor_rounds) {
    pthread_setspecific(key, bags);
    return;
  }
  own = nullptr;
  ends = true;
  flush(*bags);
  const Guard guard(registry_lock);
  bags->rounds = 0;
  bags->next_waiting = waiting;
  waiting = bags;
}

Bags* new_bags() {
  const long mapped = os::map(0, bytes_of_bags, os::read | os::write);
  if (os::failed(mapped)) return nullptr;
  auto* bags = reinterpret_cast<Bags*>(mapped);
  auto** slots = reinterpret_cast<void**>(bags + 1);
  for (unsigned c = 0; c < classes; ++c) {
    bags->bag[c].slots = slots;
    bags->bag[c].limit = limit_of(c);
    slots += bags->bag[c].limit;
  }
  STAB_ALWAYS(Layer, 2,
              reinterpret_cast<char*>(slots) <= reinterpret_cast<char*>(bags) + bytes_of_bags);
  return bags;
}

Bags* make_bags() {
  const Guard guard(registry_lock);
  Bags* bags = waiting;
  if (bags != nullptr) {
    waiting = bags->next_waiting;
  } else {
    bags = new_bags();
    if (bags == nullptr) return nullptr;
    bags->next = all;
    __atomic_store_n(&all, bags, __ATOMIC_RELEASE);
  }
  bags->random = stream(streams++);
  return bags;
}

// The thread that opened the layer is the process's first thread. It needs no destructor, because
// the process ends with it. The address of its `own` distinguishes it from others without a system
// call, which a sandbox may forbid. pthread_setspecific() may allocate, so `own` must be set
// before.
void destroy_at_end(Bags* bags) {
  if (&own == own_of_first) return;
  {
    const Guard guard(registry_lock);
    if (!key_made) key_made = pthread_key_create(&key, thread_ended) == 0;
  }
  if (key_made) pthread_setspecific(key, bags);
}

// Returns nullptr, without bags, if the thread is about to end or there is no memory.
__attribute__((noinline)) Bags* first_use() {
  if (ends || holds_every_lock) return nullptr;
  Bags* bags = make_bags();
  if (bags == nullptr) return nullptr;
  own = bags;
  destroy_at_end(bags);
  return bags;
}

void* swap(Bags& bags, Bag& bag, void* block) {
  const uint32_t i = pick(bags.random, bag.count);
  void* other = bag.slots[i];
  bag.slots[i] = block;
  return other;
}

bool may_grow(const Bags& bags, const Bag& bag, uint32_t size) {
  if ((bag.count + 1) * size <= free_bytes) return true;
  if (bags.held_bytes + size <= free_bytes_of_all) return true;
  const auto live = static_cast<int64_t>(load(bags.counts.taken) - bags.given);
  return static_cast<int64_t>((bags.held + 1) * live_blocks_for_one) <= live;
}

// The bag is not full, so it keeps one more block if the limits allow.
__attribute__((noinline)) void* grow_and_swap(Bags& bags, Bag& bag, uint32_t size, void* block) {
  if (may_grow(bags, bag, size)) {
    const int before = errno;
    if (void* more = system_heap.allocate(size); more != nullptr) {
      bag.slots[bag.count++] = more;
      ++bags.held;
      bags.held_bytes += size;
    }
    errno = before;
  }
  const uint32_t i = pick(bags.random, bag.count + 1);
  if (i == bag.count) return block;
  void* other = bag.slots[i];
  bag.slots[i] = block;
  return other;
}

// The memory that the bags hold may be what is missing.
__attribute__((noinline)) void* without_memory(Bags& bags, uint32_t size) {
  if (bags.held == 0) return nullptr;
  flush(bags);
  return system_heap.allocate(size);
}

__attribute__((noinline)) void* allocate_large(size_t size) {
  if (Bags* bags = own != nullptr ? own : first_use(); bags != nullptr) {
    bags->given_at_take = bags->given;
    increase(bags->counts.bytes, size);
    increase(bags->counts.in_order, size);
    increase(bags->counts.taken);
  }
  return system_heap.allocate(size);
}

void* allocate(size_t size) {
  if (__builtin_expect(size > layer_bound, 0)) return allocate_large(size);
  Bags* bags = own;
  if (__builtin_expect(bags == nullptr, 0)) {
    bags = first_use();
    if (bags == nullptr) return system_heap.allocate(size);
  }
  const unsigned c = class_of[(size + step - 1) / step];
  const uint32_t rounded = class_size[c];
  void* block = system_heap.allocate(rounded);
  if (__builtin_expect(block == nullptr, 0)) return without_memory(*bags, rounded);
  bags->given_at_take = bags->given;
  increase(bags->counts.taken);
  increase(bags->counts.bytes, size);
  Bag& bag = bags->bag[c];
  if (__builtin_expect(bag.count < bag.limit, 0)) return grow_and_swap(*bags, bag, rounded, block);
  return swap(*bags, bag, block);
}

void release(void* block) {
  if (block == nullptr) return;
  if (Bags* bags = own; bags != nullptr) {
    const uint64_t given = bags->given + 1;
    __atomic_store_n(&bags->given, given, __ATOMIC_RELAXED);
    if (__builtin_expect(given - bags->given_at_take >= frees_until_flush, 0)) flush(*bags);
  }
  system_heap.release(block);
}

void* allocate_zeroed(size_t size) {
  return system_heap.allocate_zeroed(1, size);
}
void* allocate_aligned(size_t alignment, size_t size) {
  return system_heap.allocate_aligned(alignment, size);
}
void* resize(void* block, size_t size) {
  return system_heap.resize(block, size);
}

}  // namespace
}  // namespace shuffling

constinit const Allocator layer = {"layer",
                                   shuffling::allocate,
                                   shuffling::allocate_zeroed,
                                   shuffling::allocate_aligned,
                                   shuffling::release,
                                   shuffling::resize,
                                   usable_in_system};

void open_layer(uint64_t seed) {
  using namespace shuffling;
  seed_of_streams = seed;
  own_of_first = &own;
  uint64_t slots = 0;
  for (unsigned i = 0; i <= steps; ++i) {
    const size_t request = i == 0 ? 1 : i * step;
    const auto size = static_cast<uint32_t>(size_of_system_class(request));
    if (classes == 0 || class_size[classes - 1] < size) {
      class_size[classes] = size;
      slots += limit_of(classes++);
    }
    class_of[i] = static_cast<uint8_t>(classes - 1);
    STAB_ALWAYS(Layer, 1, request <= class_size[classes - 1]);
  }
  bytes_of_bags = sizeof(Bags) + slots * sizeof(void*);
}

void flush_layer() {
  if (shuffling::own != nullptr) shuffling::flush(*shuffling::own);
}

CacheCounts layer_counts() {
  using namespace shuffling;
  CacheCounts sum;
  for (const Bags* bags = __atomic_load_n(&all, __ATOMIC_ACQUIRE); bags != nullptr;
       bags = bags->next) {
    sum.taken += load(bags->counts.taken);
    sum.given += load(bags->given);
    sum.bytes += load(bags->counts.bytes);
    sum.in_order += load(bags->counts.in_order);
  }
  return sum;
}

LayerHolds layer_holds() {
  if (shuffling::own == nullptr) return {0, 0};
  return {shuffling::own->held, shuffling::own->held_bytes};
}

void lock_layer() {
  shuffling::registry_lock.lock();
}

void unlock_layer() {
  shuffling::registry_lock.unlock();
}

void reseed_layer(uint64_t seed) {
  using namespace shuffling;
  seed_of_streams = seed;
  streams = 0;
  if (own != nullptr) own->random = stream(streams++);
}

}  // namespace stab::heap
