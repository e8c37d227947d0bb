// SPDX-License-Identifier: MIT
// The paper's shuffling layer (`layered` in allocator.h) and its bases, among them TLSF, which no
// other allocator uses.
#include <stddef.h>
#include <stdint.h>

#include "runtime/malloc/allocators/allocator.h"
#include "runtime/malloc/allocators/system.h"
#include "runtime/malloc/memory/arena.h"
#include "runtime/malloc/memory/cache.h"
#include "runtime/malloc/memory/misuse.h"

namespace stab::heap {

// Two-level segregated fit (Masmano, Ripoll, Crespo, Real: TLSF, ECRTS 2004) finds a block of any
// size in constant time, in lists that split each power of two into 16 parts. The caller locks it.
//
// The header of a block is the 16 bytes before it. The first 8 of them belong to the preceding
// block, and hold that block's size while it is free. So a block of n bytes takes n + 8 bytes, and
// n is a multiple of 16 plus 8.
class Tlsf {
 public:
  // Returns a block of at least `size` bytes, aligned to 16, or nullptr if there is no memory.
  void* take(size_t size);
  // The same, aligned to a power of two.
  void* take(size_t size, size_t alignment);
  void give(void* block);
  static size_t usable(const void* block);

  // Free blocks are in the lists of their sizes, and no two of them are neighbours.
  bool is_valid() const;

 private:
  static constexpr unsigned rows = 26;
  static constexpr unsigned columns = 16;

  struct Block;
  struct Bin {
    unsigned row;
    unsigned column;
  };
  static Bin bin_of(size_t size);

  Block* find(size_t size);
  bool add_pool(size_t size);
  void insert(Block* block);
  void remove(Block* block);
  void cut(Block* block, size_t size);
  void free_and_merge(Block* block);

  uint32_t row_bits_ = 0;
  uint32_t column_bits_[rows] = {};
  Block* lists_[rows][columns] = {};
};

namespace {

constexpr uint32_t stack_size = 64;  // blocks that come from the base or go back to it
constexpr int no_class = -1;

// The functions of a base, other than giving and taking blocks of a class. The system's allocator
// knows which of its memory is fresh, so only its own function avoids writing to all of it.
struct Below {
  int (*class_of)(void* block);  // no_class: the block bypasses the layer
  size_t (*usable)(void* block);
  void* (*allocate)(size_t alignment, size_t size, bool& zeroed);
  void* (*allocate_zeroed)(size_t count, size_t size);  // nullptr: allocate() tells what is zero
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
  void* block = nullptr;
  if (size <= classes->largest()) {
    block = allocate(size);
  } else if (below.allocate_zeroed != nullptr) {
    block = below.allocate_zeroed(1, size);
    zeroed = true;
  } else {
    block = below.allocate(16, size, zeroed);
  }
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
  const AnyCache cache(CacheFor::giving);
  return is_newest((*cache).bags[c], block);
}

void release(void* block) {
  if (block == nullptr) return;
  check_block(span_of(block), block);
  const int c = below.class_of(block);
  if (c == no_class) return below.release(block);
  const AnyCache cache(CacheFor::giving);
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
  below = {class_in_slabs, usable_in_slabs, allocate_over_slabs, nullptr, release_large};
  if (base == rt::Base::tlsf) {
    from = {classes, take_from_tlsf, give_to_tlsf, nullptr};
    below = {class_in_tlsf, usable_in_tlsf, allocate_over_tlsf, nullptr, release_large};
  } else if (base == rt::Base::system) {
    from = {classes, take_from_system, give_to_system, nullptr};
    below = {class_in_system, usable_in_system, allocate_over_system, system_heap.allocate_zeroed,
             release_to_system};
  }
  open_caches(from, seeds.next(), array_size);
}

void lock_tlsf() {
  tlsf_lock.lock();
}
void unlock_tlsf() {
  tlsf_lock.unlock();
}

namespace {

// The blocks of TLSF.

constexpr size_t header = 16;
constexpr size_t least = 24;  // a free block holds two links, and its size for the next block
constexpr size_t split_from = least + 8;
constexpr uint64_t pool_units = 16;
constexpr size_t fine_up_to = 256;
constexpr uint64_t is_free = 1;
constexpr uint64_t before_is_free = 2;
constexpr uint64_t flags = 15 & ~uint64_t{8};

size_t rounded(size_t size) {
  return size <= least ? least : (size - 8 + 15) / 16 * 16 + 8;
}

unsigned log2_of(size_t size) {
  return 63 - static_cast<unsigned>(__builtin_clzll(size));
}

}  // namespace

struct Tlsf::Block {
  uint64_t before;  // the size of the preceding block while that block is free
  uint64_t bits;    // the size, and flags
  Block* next;      // the links belong to the program while the block is in use
  Block* previous;

  // Atomic, because neighbours change the flags while the owner reads the size without the lock.
  [[nodiscard]] uint64_t load() const { return __atomic_load_n(&bits, __ATOMIC_RELAXED); }
  void store(uint64_t value) { __atomic_store_n(&bits, value, __ATOMIC_RELAXED); }
  void set(uint64_t flag) { store(load() | flag); }
  void clear(uint64_t flag) { store(load() & ~flag); }
  [[nodiscard]] bool has(uint64_t flag) const { return (load() & flag) != 0; }
  [[nodiscard]] size_t size() const { return load() & ~flags; }
  void resize(size_t size) { store(size | (load() & flags)); }
  [[nodiscard]] bool free() const { return has(is_free); }
  void* payload() { return reinterpret_cast<char*>(this) + header; }
  static Block* of(const void* payload) {
    return reinterpret_cast<Block*>(reinterpret_cast<uint64_t>(payload) - header);
  }
  Block* behind() { return at(reinterpret_cast<uint64_t>(this) + 8 + size()); }
  Block* in_front() { return at(reinterpret_cast<uint64_t>(this) - 8 - before); }
  static Block* at(uint64_t address) { return reinterpret_cast<Block*>(address); }
};

// Sizes below 256 have a list for each multiple of 16.
Tlsf::Bin Tlsf::bin_of(size_t size) {
  if (size < fine_up_to) return {0, static_cast<unsigned>(size / 16)};
  const unsigned bits = log2_of(size);
  return {bits - 7, static_cast<unsigned>(size >> (bits - 4)) & 15};
}

void Tlsf::insert(Block* block) {
  const Bin bin = bin_of(block->size());
  Block*& list = lists_[bin.row][bin.column];
  block->previous = nullptr;
  block->next = list;
  if (list != nullptr) list->previous = block;
  list = block;
  column_bits_[bin.row] |= 1u << bin.column;
  row_bits_ |= 1u << bin.row;
}

void Tlsf::remove(Block* block) {
  const Bin bin = bin_of(block->size());
  if (block->previous != nullptr) block->previous->next = block->next;
  if (block->next != nullptr) block->next->previous = block->previous;
  Block*& list = lists_[bin.row][bin.column];
  if (list == block) list = block->next;
  if (list != nullptr) return;
  column_bits_[bin.row] &= ~(1u << bin.column);
  if (column_bits_[bin.row] == 0) row_bits_ &= ~(1u << bin.row);
}

// The size is raised to the lower end of a list, so that any block of that list is large enough.
Tlsf::Block* Tlsf::find(size_t size) {
  if (size >= fine_up_to) size += (size_t{1} << (log2_of(size) - 4)) - 1;
  const Bin bin = bin_of(size);
  if (bin.row >= rows) return nullptr;
  unsigned row = bin.row;
  uint32_t columns_left = column_bits_[row] & ~uint32_t{0} << bin.column;
  if (columns_left == 0) {
    const uint32_t rows_left = row + 1 < 32 ? row_bits_ & ~uint32_t{0} << (row + 1) : 0;
    if (rows_left == 0) return nullptr;
    row = static_cast<unsigned>(__builtin_ctz(rows_left));
    columns_left = column_bits_[row];
  }
  return lists_[row][__builtin_ctz(columns_left)];
}

// A pool is one free block, followed by one of size 0 that is never free.
bool Tlsf::add_pool(size_t size) {
  uint64_t units = (2 * size + 64 + unit_size - 1) >> unit_bits;
  if (units < pool_units) units = pool_units;
  bool zeroed = false;
  Span* span = arena.take(units, Purpose::pool, zeroed);
  if (span == nullptr) return false;
  lead_to_all(span);
  Block* block = Block::at(span->start);
  block->store(span->size() - 2 * header - 8);
  block->behind()->store(0);
  free_and_merge(block);
  return true;
}

void Tlsf::free_and_merge(Block* block) {
  if (block->has(before_is_free)) {
    Block* front = block->in_front();
    remove(front);
    front->resize(front->size() + 8 + block->size());
    block = front;
  }
  if (Block* behind = block->behind(); behind->free()) {
    remove(behind);
    block->resize(block->size() + 8 + behind->size());
  }
  block->set(is_free);
  block->behind()->before = block->size();
  block->behind()->set(before_is_free);
  insert(block);
}

// Shortens a block that is in no list. The rest becomes a free block if it is large enough.
void Tlsf::cut(Block* block, size_t size) {
  const size_t all = block->size();
  if (all < size + split_from) return;
  block->resize(size);
  Block* rest = block->behind();
  rest->store(all - size - 8);
  free_and_merge(rest);
}

void* Tlsf::take(size_t wanted) {
  const size_t size = rounded(wanted);
  Block* block = find(size);
  if (block == nullptr) {
    if (!add_pool(size)) return nullptr;
    block = find(size);
  }
  remove(block);
  block->clear(is_free);
  block->behind()->clear(before_is_free);
  cut(block, size);
  return block->payload();
}

void* Tlsf::take(size_t wanted, size_t alignment) {
  if (alignment <= 16) return take(wanted);
  const size_t size = rounded(wanted);
  void* payload = take(size + alignment + split_from);
  if (payload == nullptr) return nullptr;
  const auto start = reinterpret_cast<uint64_t>(payload);
  uint64_t aligned = (start + alignment - 1) & -alignment;
  if (aligned != start) {
    if (aligned - start < split_from) aligned += alignment;
    Block* front = Block::of(payload);
    const size_t all = front->size();
    front->resize(aligned - start - 8);
    Block* block = front->behind();
    block->store(all - (aligned - start));
    free_and_merge(front);
    payload = block->payload();
  }
  cut(Block::of(payload), size);
  return payload;
}

void Tlsf::give(void* payload) {
  free_and_merge(Block::of(payload));
}

size_t Tlsf::usable(const void* payload) {
  return Block::of(payload)->size();
}

bool Tlsf::is_valid() const {
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned column = 0; column < columns; ++column)
      for (Block* block = lists_[row][column]; block != nullptr; block = block->next) {
        const Bin bin = bin_of(block->size());
        if (!block->free() || bin.row != row || bin.column != column) return false;
        Block* behind = block->behind();
        if (behind->free() || behind->before != block->size()) return false;
        if (!behind->has(before_is_free) || block->has(before_is_free)) return false;
      }
  return true;
}

}  // namespace stab::heap
