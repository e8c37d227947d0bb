// SPDX-License-Identifier: MIT
// A span is a run of units, 64 KB each, that serves one purpose: a slab of equal slots, one large
// block, a pool, or nothing. What is known about it lies apart from it. Any address of a block
// leads to its span, through a table of the address space.
#pragma once

#include <stdint.h>

namespace stab::heap {

constexpr unsigned unit_bits = 16;
constexpr uint64_t unit_size = uint64_t{1} << unit_bits;

enum class Purpose : uint8_t { unused, slab, large, pool };
// What is behind the addresses of an unused span: written pages, zero pages, nothing.
enum class Backing : uint8_t { written, zero, absent };

constexpr uint8_t no_bag = 255;

struct Span {
  uint64_t start;
  uint32_t units;
  Purpose purpose;
  Backing backing;
  // The class whose bag takes the slots of this slab as they are; no_bag: not that simple.
  uint8_t bag;
  uint8_t size_class;
  // In the arena's list of unused spans, or in a class's list of slabs with free slots.
  Span* previous;
  Span* next;

  // A slab: `slots` of `slot_size` bytes from `first` on. A bit in `free_bits` is set when the
  // slot belongs neither to the program nor to a bag.
  uint64_t first;
  uint32_t slot_size;
  uint32_t slots;
  uint32_t free_slots;
  uint32_t hint;  // no word below this one has a bit
  uint32_t row;   // the slot from which the next row is taken
  uint64_t reciprocal;
  uint64_t* free_bits;

  // A large block.
  uint64_t block;

  [[nodiscard]] uint64_t size() const { return uint64_t{units} << unit_bits; }
  [[nodiscard]] uint64_t end() const { return start + size(); }
  [[nodiscard]] uint32_t slot_at(uint64_t address) const {
    return static_cast<uint32_t>(((address - first) * reciprocal) >> 40);
  }
  [[nodiscard]] uint64_t address_of(uint32_t slot) const {
    return first + uint64_t{slot} * slot_size;
  }
};

// slot_at() divides by multiplication: exact for slots up to 32 KB in spans up to 16 MB.
constexpr uint64_t reciprocal_of(uint32_t size) {
  return ((uint64_t{1} << 40) + size - 1) / size;
}

constexpr unsigned leaf_bits = 32;
constexpr uint64_t leaves = uint64_t{1} << (47 - leaf_bits);
constexpr uint64_t leaf_entries = uint64_t{1} << (leaf_bits - unit_bits);
extern Span** directory[leaves];

// nullptr: no span of ours was ever there. Otherwise it is right for the addresses of blocks.
inline Span* span_of(const void* address) {
  const auto a = reinterpret_cast<uint64_t>(address);
  Span** leaf = __atomic_load_n(&directory[(a >> leaf_bits) & (leaves - 1)], __ATOMIC_ACQUIRE);
  if (leaf == nullptr) return nullptr;
  return __atomic_load_n(&leaf[(a >> unit_bits) & (leaf_entries - 1)], __ATOMIC_ACQUIRE);
}

// Makes room in the table for these addresses. False: there is no memory for it.
bool prepare_directory(uint64_t start, uint64_t size);
// One unit leads to this span from now on. The table has room for it.
void lead_to(uint64_t address, Span* span);
// All units of the span do.
void lead_to_all(Span* span);

}  // namespace stab::heap
