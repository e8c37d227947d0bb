// SPDX-License-Identifier: MIT
#include "runtime/malloc/allocators/allocator.h"
#include "runtime/malloc/allocators/system.h"
#include "runtime/malloc/memory/arena.h"
#include "runtime/malloc/memory/cache.h"
#include "runtime/malloc/memory/misuse.h"
#include "runtime/malloc/memory/slabs.h"

namespace stab::heap {
namespace {

constexpr const Classes& classes = fine_classes;
constexpr uint32_t low_from = 64;    // smaller bags may run empty
constexpr uint32_t line_size = 144;  // slots up to this size share cache lines with others
constexpr uint32_t page_size = 528;  // slots up to this size share pages
constexpr uint32_t window = 4;       // a class that keeps blocks near draws from this many slots
constexpr size_t highest_small_alignment = 4096;
constexpr size_t grows_with_room_from = 1024;

uint64_t near_from[most_classes];  // a class with more bytes keeps its blocks near each other

uint64_t near_limit(uint32_t slot_size, uint64_t order_from) {
  if (slot_size <= line_size) return order_from;
  const bool is_near = slot_size <= page_size && order_from < UINT64_MAX / 4;
  return is_near ? 4 * order_from : UINT64_MAX;
}

// A bag that is in use grows to its full size even if it never runs empty.
inline void grow_with_use(Bag& bag, unsigned c) {
  if (bag.target < bag_limit(c) && bag.near_from == 0) bag.low = bag.count;
}

inline void* take_random(Cache& cache, Bag& bag, unsigned c) {
  const uint32_t first = bag.near_from != 0 && bag.count > window ? bag.count - window : 0;
  const uint32_t i = first + pick(cache.random, bag.count - first);
  if (__builtin_expect(i == 0, 0)) grow_with_use(bag, c);
  void* slot = bag.slots[i];
  bag.slots[i] = bag.slots[--bag.count];
  increase(bag.taken);
  return slot;
}

inline void* take_next(Bag& bag, unsigned c) {
  const uint64_t bits = bag.row.bits;
  bag.row.bits = bits & (bits - 1);
  increase(bag.taken);
  return reinterpret_cast<void*>(bag.row.base + static_cast<unsigned>(__builtin_ctzll(bits)) *
                                                    uint64_t{classes.size[c]});
}

bool fill(Bag& bag, unsigned c) {
  const uint32_t limit = bag_limit(c);
  const uint32_t target = bag.target == 0 ? 8 : 2 * bag.target;
  bag.target = target < limit ? target : limit;
  while (bag.capacity < bag.target)
    if (!enlarge(bag, c)) break;
  if (bag.count < bag.target && bag.count < bag.capacity) {
    const uint32_t most = bag.target < bag.capacity ? bag.target : bag.capacity;
    bag.count += slabs.take(c, bag.slots + bag.count, most - bag.count);
  }
  bag.low = bag.target >= low_from ? bag.target / 2 : 0;
  return bag.count != 0;
}

// From now on new blocks lie near each other, and freed slots are used again soon.
void keep_near(Bag& bag) {
  if (bag.near_from == 0) __atomic_store_n(&bag.near_from, bag.taken + 1, __ATOMIC_RELAXED);
  bag.low = 0;
}

void* refill_and_take(Cache& cache, Bag& bag, unsigned c) {
  if (slabs.bytes(c) > near_from[c] && slabs.take_row(c, bag.row)) {
    keep_near(bag);
    return take_next(bag, c);
  }
  keep_apart(cache, c, classes.size[c]);
  return fill(bag, c) ? take_random(cache, bag, c) : nullptr;
}

inline void* take(Cache& cache, unsigned c) {
  Bag& bag = cache.bags[c];
  if (__builtin_expect(bag.count > bag.low, 1)) return take_random(cache, bag, c);
  if (bag.row.bits != 0) return take_next(bag, c);
  return refill_and_take(cache, bag, c);
}

// The oldest slots go, so that the remaining ones lie near the blocks in use.
void flush_oldest(Bag& bag, unsigned c) {
  const uint32_t gone = bag.count / 2;
  slabs.give(c, bag.slots, gone);
  bag.count -= gone;
  for (uint32_t i = 0; i < bag.count; ++i) bag.slots[i] = bag.slots[i + gone];
}

// Random slots go, so that the age of a slot doesn't decide whether it stays.
void flush(Cache& cache, Bag& bag, unsigned c) {
  if (bag.near_from != 0) return flush_oldest(bag, c);
  constexpr uint32_t batch = 64;
  void* gone[batch];
  for (uint32_t left = bag.count / 2; left != 0;) {
    const uint32_t n = left < batch ? left : batch;
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t j = pick(cache.random, bag.count);
      gone[i] = bag.slots[j];
      bag.slots[j] = bag.slots[--bag.count];
    }
    slabs.give(c, gone, n);
    left -= n;
  }
}

void make_room_and_put(Cache& cache, Bag& bag, unsigned c, void* slot) {
  if (!enlarge(bag, c)) {
    if (bag.count == 0) {  // no memory for the bag itself
      slabs.give(c, &slot, 1);
      return end_unless_shared(cache);
    }
    flush(cache, bag, c);
  }
  bag.slots[bag.count++] = slot;
  end_unless_shared(cache);
}

inline void put(Cache& cache, unsigned c, void* slot) {
  Bag& bag = cache.bags[c];
  increase(bag.given);
  if (__builtin_expect(bag.count == bag.capacity, 0)) return make_room_and_put(cache, bag, c, slot);
  bag.slots[bag.count++] = slot;
}

__attribute__((noinline)) void* allocate_slowly(size_t size) {
  void* block = nullptr;
  if (size > classes.largest()) {
    bool zeroed = false;
    block = take_large(size, 16, zeroed);
  } else {
    const AnyCache cache;
    block = take(*cache, classes.of(size));
  }
  return block == nullptr ? no_memory() : block;
}

void* allocate(size_t size) {
  Cache* cache = own_cache;
  if (__builtin_expect(size > classes.largest() || cache == nullptr, 0))
    return allocate_slowly(size);
  void* block = take(*cache, classes.of(size));
  return __builtin_expect(block == nullptr, 0) ? no_memory() : block;
}

void* allocate_zeroed(size_t size) {
  if (size <= classes.largest()) {
    void* block = allocate(size);
    if (block != nullptr) clear(block, size);
    return block;
  }
  bool zeroed = false;
  void* block = take_large(size, 16, zeroed);
  if (block == nullptr) return no_memory();
  if (!zeroed) clear(block, size);
  return block;
}

// From now on a block of this slab may begin inside a slot, so release() cannot assume that an
// address is that of a slot.
void mark_inner(void* block) {
  __atomic_store_n(&span_of(block)->bag, no_bag, __ATOMIC_RELAXED);
}

void* allocate_aligned(size_t alignment, size_t size) {
  if (alignment <= 16) return allocate(size);
  if (size == 0) size = 1;  // otherwise a block at the end of its slot would begin in the next one
  const size_t most = size + alignment - 16;
  if (alignment > highest_small_alignment || most > classes.largest() || most < size) {
    bool zeroed = false;
    void* block = take_large(size, alignment, zeroed);
    return block == nullptr ? no_memory() : block;
  }
  void* slot = allocate(most);
  if (slot == nullptr) return nullptr;
  const uint64_t aligned = (reinterpret_cast<uint64_t>(slot) + alignment - 1) & -alignment;
  if (aligned != reinterpret_cast<uint64_t>(slot)) mark_inner(slot);
  return reinterpret_cast<void*>(aligned);
}

// Each free() checks for an earlier free() of the block only in this way: a mark in the block would
// cost multithreaded programs a few percent (doc/decisions/0028-no-marks-in-freed-blocks.md).
inline bool is_newest(const Bag& bag, const void* slot) {
  return bag.count != 0 && bag.slots[bag.count - 1] == slot;
}

// Returns the slot of one of the program's blocks, which may begin inside the slot.
void* slot_of(const Span* slab, void* block) {
  const auto address = reinterpret_cast<uint64_t>(block);
  const bool inner = __atomic_load_n(&slab->bag, __ATOMIC_RELAXED) == no_bag;
  const uint32_t slot = slab->slot_at(address);
  if (inner ? address % 16 != 0 || slot >= slab->slots : !slab->begins_slot(address))
    damaged(no_block);
  return reinterpret_cast<void*>(slab->address_of(slot));
}

bool was_given_last(unsigned c, const void* slot) {
  const AnyCache cache(CacheFor::giving);
  return is_newest((*cache).bags[c], slot);
}

// Ends the program if this is not a block of this allocator.
void check_block(const Span* span, void* block) {
  if (span->purpose == Purpose::large) {
    if (span->block != reinterpret_cast<uint64_t>(block)) damaged(no_block);
    return;
  }
  if (span->purpose != Purpose::slab) damaged(no_block);
  void* slot = slot_of(span, block);
  if (span->is_free(span->slot_at(reinterpret_cast<uint64_t>(slot)))) damaged(freed_twice);
  if (was_given_last(span->size_class, slot)) damaged(freed_twice);
}

__attribute__((noinline)) void release_slowly(void* block, Span* span) {
  if (block == nullptr) return;
  if (span == nullptr) return system_heap.release(block);
  check_block(span, block);
  if (span->purpose == Purpose::large) return give_large(span);
  void* slot = slot_of(span, block);
  const AnyCache cache(CacheFor::giving);
  put(*cache, span->size_class, slot);
}

void release(void* block) {
  Span* span = span_of(block);
  Cache* cache = own_cache;
  if (__builtin_expect(span == nullptr || cache == nullptr, 0)) return release_slowly(block, span);
  const unsigned c = __atomic_load_n(&span->bag, __ATOMIC_RELAXED);
  if (__builtin_expect(c == no_bag, 0)) return release_slowly(block, span);
  const bool begins = span->begins_slot(reinterpret_cast<uint64_t>(block));
  if (__builtin_expect(!begins || is_newest(cache->bags[c], block), 0))
    return release_slowly(block, span);  // may abort, so it is a call: this function needs no frame
  put(*cache, c, block);
}

size_t usable(void* block) {
  const Span* span = span_of(block);
  if (span == nullptr) return usable_in_system(block);
  if (span->purpose == Purpose::large) return room_in_large(span);
  if (span->purpose != Purpose::slab) return 0;
  const auto address = reinterpret_cast<uint64_t>(block);
  return span->address_of(span->slot_at(address) + 1) - address;
}

// A block that grows by small steps would be copied to each class in turn, and each time to a slot
// that is not in the caches. So it gets half as much again, as far as slots are that large: a large
// block that is resized to the size of a slot would move to a slot.
size_t with_room(size_t old, size_t size) {
  const bool by_small_step = size > old && size - old <= old / 8;
  if (old < grows_with_room_from || !by_small_step || size >= classes.largest()) return size;
  const size_t more = size + size / 2;
  return more < classes.largest() ? more : classes.largest();
}

void* resize(void* block, size_t size) {
  Span* span = span_of(block);
  if (span == nullptr) return system_heap.resize(block, size);
  check_block(span, block);
  const size_t old = usable(block);
  if (span->purpose == Purpose::slab) {
    if (stays(old, size)) return block;
    if (const size_t more = with_room(old, size); more != size)
      if (void* moved = move_block(shuffled, block, old, more); moved != nullptr) return moved;
  } else if (size > classes.largest()) {
    void* resized = resize_large(span, size);
    return resized == nullptr ? no_memory() : resized;
  }
  return move_block(shuffled, block, old, size);
}

}  // namespace

constinit const Allocator shuffled = {"shuffled", allocate, allocate_zeroed, allocate_aligned,
                                      release,    resize,   usable};

void open_shuffled(const ShuffledSettings& settings) {
  for (unsigned c = 0; c < classes.count; ++c)
    near_from[c] = near_limit(classes.size[c], settings.order_from);
  rt::Random seeds(settings.seed);
  arena.open(seeds.next());
  slabs.open(classes, true, seeds.next());
  open_large(true, seeds.next());
  open_caches(slab_source(classes), seeds.next(), settings.bag_size);
}

}  // namespace stab::heap
