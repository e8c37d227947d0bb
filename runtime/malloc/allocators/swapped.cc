// SPDX-License-Identifier: MIT
#include "runtime/malloc/allocators/swapped.h"

#include "runtime/malloc/allocators/allocator.h"
#include "runtime/malloc/allocators/blocks.h"
#include "runtime/malloc/allocators/system.h"
#include "runtime/malloc/allocators/tlsf.h"
#include "runtime/malloc/memory/arena.h"
#include "runtime/malloc/memory/cache.h"
#include "runtime/malloc/memory/large.h"
#include "runtime/malloc/memory/metadata.h"
#include "runtime/malloc/memory/misuse.h"

namespace stab::heap {
namespace {

constexpr uint32_t stack_size = 64;  // blocks that come from the base or go back to it
constexpr int no_class = -1;

// The functions of a base, other than giving and taking blocks of a class.
struct Below {
  int (*class_of)(void* block);  // no_class: the block bypasses the layer
  size_t (*usable)(void* block);
  void* (*allocate)(size_t alignment, size_t size, bool& zeroed);
  void (*release)(void* block);
};
Below below;
const Classes* classes;

// Fills the bag of a class. Its first `low` blocks are the array, and the others are a stack.
bool fill(Bag& bag, unsigned c) {
  const uint32_t n = bag_limit(c);
  if (bag.slots == nullptr) {
    bag.slots = static_cast<void**>(new_metadata((n + stack_size) * sizeof(void*)));
    if (bag.slots == nullptr) return false;
    bag.capacity = n + stack_size;
  }
  const uint32_t wanted = n + stack_size / 2 - bag.count;
  bag.count += source().take(c, bag.slots + bag.count, wanted);
  if (bag.count == 0) return false;
  bag.low = bag.count > n ? n : bag.count - 1;
  return true;
}

void* take(Cache& cache, unsigned c) {
  Bag& bag = cache.bags[c];
  if (bag.count <= bag.low && !fill(bag, c)) return nullptr;
  void* block = bag.slots[--bag.count];
  if (bag.low != 0) {
    const uint32_t i = pick(cache.random, bag.low);
    void* other = bag.slots[i];
    bag.slots[i] = block;
    block = other;
  }
  __atomic_store_n(&bag.taken, bag.taken + 1, __ATOMIC_RELAXED);
  return block;
}

__attribute__((noinline)) bool lies_in(const Bag& bag, const void* block) {
  for (uint32_t i = 0; i < bag.count; ++i)
    if (bag.slots[i] == block) return true;
  return false;
}

// Whether the block was the last one put there, and was not taken since.
bool is_newest(const Bag& bag, const void* block) {
  return __builtin_expect(bag.newest == block, 0) && lies_in(bag, block);
}

void put(Cache& cache, unsigned c, void* block) {
  Bag& bag = cache.bags[c];
  if (is_newest(bag, block)) {
    note_damage(freed_twice);
    return end_unless_shared(cache);
  }
  bag.newest = block;
  __atomic_store_n(&bag.given, bag.given + 1, __ATOMIC_RELAXED);
  if (bag.slots == nullptr && !fill(bag, c)) {
    source().give(c, &block, 1);
    return end_unless_shared(cache);
  }
  if (bag.count == bag.capacity) {
    bag.count -= stack_size / 2;
    source().give(c, bag.slots + bag.count, stack_size / 2);
    end_unless_shared(cache);
  }
  if (bag.low != 0) {
    const uint32_t i = pick(cache.random, bag.low);
    void* other = bag.slots[i];
    bag.slots[i] = block;
    block = other;
  }
  bag.slots[bag.count++] = block;
}

void* allocate(size_t size) {
  void* block = nullptr;
  if (size > classes->largest()) {
    bool zeroed = false;
    block = below.allocate(16, size, zeroed);
  } else {
    const AnyCache cache;
    block = take(*cache, classes->of(size));
  }
  return block == nullptr ? no_memory() : block;
}

void* allocate_zeroed(size_t size) {
  bool zeroed = false;
  void* block = size > classes->largest() ? below.allocate(16, size, zeroed) : allocate(size);
  if (block == nullptr) return no_memory();
  if (!zeroed) clear(block, size);
  return block;
}

void* allocate_aligned(size_t alignment, size_t size) {
  if (alignment <= 16) return allocate(size);
  bool zeroed = false;
  void* block = below.allocate(alignment, size, zeroed);
  return block == nullptr ? no_memory() : block;
}

// Ends the program if this can't be a block of this allocator.
void check_block(const Span* span, void* block) {
  if (span == nullptr) return;
  const auto address = reinterpret_cast<uint64_t>(block);
  const bool begins = span->purpose == Purpose::slab    ? span->begins_slot(address)
                      : span->purpose == Purpose::large ? span->block == address
                                                        : span->purpose == Purpose::pool;
  if (!begins || address % 16 != 0) damaged(no_block);
}

bool was_given_last(int c, const void* block) {
  if (c == no_class) return false;
  const AnyCache cache;
  return is_newest((*cache).bags[c], block);
}

void release(void* block) {
  if (block == nullptr) return;
  check_block(span_of(block), block);
  const int c = below.class_of(block);
  if (c == no_class) return below.release(block);
  const AnyCache cache;
  put(*cache, static_cast<unsigned>(c), block);
}

size_t usable(void* block) {
  return below.usable(block);
}

void* resize(void* block, size_t size) {
  Span* span = span_of(block);
  check_block(span, block);
  const int c = below.class_of(block);
  if (was_given_last(c, block)) damaged(freed_twice);
  if (span != nullptr && span->purpose == Purpose::large && size > classes->largest()) {
    void* resized = resize_large(span, size);
    return resized == nullptr ? no_memory() : resized;
  }
  if (c == no_class && (span == nullptr || span->purpose != Purpose::large))
    return system_heap.resize(block, size);
  const size_t old = usable(block);
  return stays(old, size) ? block : move_block(layered, block, old, size);
}

// The base power2: slots are aligned to their size.
int class_in_slabs(void* block) {
  const Span* span = span_of(block);
  return span != nullptr && span->purpose == Purpose::slab ? span->size_class : no_class;
}

size_t usable_in_slabs(void* block) {
  const Span* span = span_of(block);
  if (span == nullptr) return usable_in_system(block);
  if (span->purpose == Purpose::unused) return 0;
  return span->purpose == Purpose::large ? room_in_large(span) : span->slot_size;
}

void* allocate_over_slabs(size_t alignment, size_t size, bool& zeroed) {
  const size_t both = size > alignment ? size : alignment;
  return both <= classes->largest() ? allocate(both) : take_large(size, alignment, zeroed);
}

void release_large(void* block) {
  Span* span = span_of(block);
  if (span == nullptr) return system_heap.release(block);
  give_large(span);
}

// The base tlsf: a block serves the largest class that its size can hold.
constinit Tlsf tlsf;
Lock tlsf_lock;

unsigned take_from_tlsf(unsigned c, void** blocks, unsigned count) {
  const Guard guard(tlsf_lock);
  unsigned n = 0;
  while (n < count && (blocks[n] = tlsf.take(classes->size[c])) != nullptr) ++n;
  return n;
}

void give_to_tlsf(unsigned /*c*/, void* const* blocks, unsigned count) {
  const Guard guard(tlsf_lock);
  for (unsigned i = 0; i < count; ++i) tlsf.give(blocks[i]);
}

int class_in_tlsf(void* block) {
  const Span* span = span_of(block);
  if (span == nullptr || span->purpose != Purpose::pool) return no_class;
  return static_cast<int>(classes->within(Tlsf::usable(block)));
}

size_t usable_in_tlsf(void* block) {
  const Span* span = span_of(block);
  if (span == nullptr) return usable_in_system(block);
  if (span->purpose == Purpose::unused) return 0;
  return span->purpose == Purpose::large ? room_in_large(span) : Tlsf::usable(block);
}

void* allocate_over_tlsf(size_t alignment, size_t size, bool& zeroed) {
  if (size > classes->largest() || alignment > classes->largest())
    return take_large(size, alignment, zeroed);
  const Guard guard(tlsf_lock);
  const size_t least = classes->size[0];
  return tlsf.take(size < least ? least : size, alignment);
}

// The base system.
unsigned take_from_system(unsigned c, void** blocks, unsigned count) {
  unsigned n = 0;
  while (n < count && (blocks[n] = system_heap.allocate(classes->size[c])) != nullptr) ++n;
  return n;
}

void give_to_system(unsigned /*c*/, void* const* blocks, unsigned count) {
  for (unsigned i = 0; i < count; ++i) system_heap.release(blocks[i]);
}

int class_in_system(void* block) {
  const size_t size = usable_in_system(block);
  if (size < classes->size[0] || size > classes->largest() + 64) return no_class;
  return static_cast<int>(classes->within(size));
}

void* allocate_over_system(size_t alignment, size_t size, bool& /*zeroed*/) {
  return alignment <= 16 ? system_heap.allocate(size)
                         : system_heap.allocate_aligned(alignment, size);
}

void release_to_system(void* block) {
  system_heap.release(block);
}

}  // namespace

constinit const Allocator layered = {"layered", allocate, allocate_zeroed, allocate_aligned,
                                     release,   resize,   usable};

void open_swapped(rt::Base base, uint64_t seed, uint64_t array_size) {
  rt::Random seeds(seed);
  arena.open(seeds.next());
  open_large(false, seeds.next());
  classes = base == rt::Base::power2 ? &power_classes : &fine_classes;
  slabs.open(*classes, false, seeds.next());
  Source from = slab_source(*classes);
  below = {class_in_slabs, usable_in_slabs, allocate_over_slabs, release_large};
  if (base == rt::Base::tlsf) {
    from = {classes, take_from_tlsf, give_to_tlsf, nullptr};
    below = {class_in_tlsf, usable_in_tlsf, allocate_over_tlsf, release_large};
  } else if (base == rt::Base::system) {
    from = {classes, take_from_system, give_to_system, nullptr};
    below = {class_in_system, usable_in_system, allocate_over_system, release_to_system};
  }
  open_caches(from, seeds.next(), array_size);
}

void lock_tlsf() {
  tlsf_lock.lock();
}
void unlock_tlsf() {
  tlsf_lock.unlock();
}

}  // namespace stab::heap
