// SPDX-License-Identifier: MIT
#include "runtime/malloc/allocators/tlsf.h"

#include "runtime/malloc/memory/arena.h"

namespace stab::heap {
namespace {

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
