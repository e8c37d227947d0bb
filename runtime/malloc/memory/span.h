// SPDX-License-Identifier: MIT
// A span is a run of units, 64 KB each, that serves one purpose: a slab of equal slots, one large
// block, a pool, or nothing. What is known about it lies apart from it. Any address of a block
// leads to its span, through a table of the address space.
//
// Invariants:
//   1. An entry of the table leads to a span that is there, or to no_span.
//   2. Spans do not overlap. What is unused is in the arena's lists, once; what is used is not.
//   3. The arena counts the units that are used.
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

  // A slab: `slots` of `slot_size` bytes from `first` on. A bit in `free_bits` is set when the
  // slot belongs neither to the program nor to a bag.
  uint64_t first;
  uint64_t reciprocal;
  uint32_t slot_size;
  uint32_t slots;
  uint64_t* free_bits;

  // A large block.
  uint64_t block;

  // What changes lies apart from what each free() reads.
  // In the arena's list of unused spans, or in a class's list of slabs with free slots.
  alignas(64) Span* previous;
  Span* next;
  uint32_t free_slots;
  uint32_t hint;  // no word below this one has a bit
  uint32_t row;   // the slot from which the next row is taken

  [[nodiscard]] uint64_t size() const { return uint64_t{units} << unit_bits; }
  [[nodiscard]] uint64_t end() const { return start + size(); }
  [[nodiscard]] uint32_t slot_at(uint64_t address) const {
    return static_cast<uint32_t>(times_reciprocal(address) >> 64);
  }
  [[nodiscard]] bool begins_slot(uint64_t address) const {
    return (address - first) * reciprocal < reciprocal;
  }
  // Whether the slot is neither the program's nor in a bag.
  [[nodiscard]] bool is_free(uint32_t slot) const {
    return (__atomic_load_n(&free_bits[slot / 64], __ATOMIC_RELAXED) >> (slot % 64) & 1) != 0;
  }
  [[nodiscard]] uint64_t address_of(uint32_t slot) const {
    return first + uint64_t{slot} * slot_size;
  }
  __extension__ using Product = unsigned __int128;
  [[nodiscard]] Product times_reciprocal(uint64_t address) const {
    return Product{address - first} * reciprocal;
  }
};

// The high half of a product with it is the quotient, and the low half is less than it exactly if
// nothing remains, for 32-bit numbers (Lemire, Kaser, Kurz: Faster remainder by direct computation,
// 2019).
constexpr uint64_t reciprocal_of(uint32_t size) {
  return UINT64_MAX / size + 1;
}

constexpr unsigned leaf_bits = 32;
constexpr uint64_t leaves = uint64_t{1} << (47 - leaf_bits);
constexpr uint64_t leaf_entries = uint64_t{1} << (leaf_bits - unit_bits);
extern Span** directory[leaves];

// Where blocks were: unused, and at no address.
extern Span no_span;

// nullptr: no span of ours was ever there. Otherwise it is right for the addresses of blocks, and
// elsewhere a span that is there or no_span.
inline Span* span_of(const void* address) {
  const auto a = reinterpret_cast<uint64_t>(address);
  Span** leaf = __atomic_load_n(&directory[(a >> leaf_bits) & (leaves - 1)], __ATOMIC_ACQUIRE);
  if (leaf == nullptr) return nullptr;
  return __atomic_load_n(&leaf[(a >> unit_bits) & (leaf_entries - 1)], __ATOMIC_ACQUIRE);
}

// Makes room in the table for these addresses. Returns false if there is no memory for it.
bool prepare_directory(uint64_t start, uint64_t size);
// One unit leads to this span from now on. The table has room for it.
void lead_to(uint64_t address, Span* span);
// The span's first and last do.
void lead_to_ends(Span* span);
// All units of the span do.
void lead_to_all(Span* span);
// The units that led to this span, which is a block's or has blocks, lead to none.
void lead_nowhere(const Span* span);

}  // namespace stab::heap
