// SPDX-License-Identifier: MIT
// Slabs are spans of equal slots; their bits, one a slot, lie apart. This is what all threads share
// of a class: caches take and give many slots at a time.
//
// Invariants:
// 1. A slot belongs to the program, to a bag, or to its slab (its bit is set).
// 2. A slab is in its class's list exactly if it has free slots.
// 3. Slots do not overlap, lie in their span and are aligned to 16 bytes.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/random.h"
#include "runtime/malloc/memory/lock.h"
#include "runtime/malloc/memory/span.h"
#include "runtime/malloc/slabs/classes.h"

namespace stab::heap {

// Up to 64 neighbouring slots from `base` on, in the order of their addresses. A bit is set if the
// slot belongs to the row.
struct Row {
  uint64_t base;
  uint64_t bits;
};

class Slabs {
 public:
  // With `colour` the first slot of each slab is at a random offset.
  void open(const Classes& classes, bool colour, uint64_t seed);
  void reseed(uint64_t seed);

  [[nodiscard]] const Classes& classes() const { return *classes_; }
  // The bytes of the slabs of a class.
  uint64_t bytes(unsigned c) const { return __atomic_load_n(&central_[c].bytes, __ATOMIC_RELAXED); }

  // Returns how many slots it wrote, fewer than `count` only if there is no memory. The slots of
  // one slab are in the order of their addresses.
  unsigned take(unsigned c, void** slots, unsigned count);
  // Each row is the next in its slab; the first of an unused slab begins at a random slot. Returns
  // false if there is no memory.
  bool take_row(unsigned c, Row& row);
  // An address that is no slot, or whose slot is free, is skipped and noted for end_if_damaged().
  void give(unsigned c, void* const* slots, unsigned count);
  void give_row(unsigned c, const Row& row);

  // Invariants 2 and 3, and that counts and bits agree.
  bool is_valid();

  void lock_all();
  void unlock_all();

 private:
  struct Central {
    Lock lock{};
    Span* partial = nullptr;
    uint64_t bytes = 0;
    rt::Random random{0};
  };

  Span* slab_with_room(unsigned c);
  Span* make_slab(unsigned c);
  const char* give_slot(unsigned c, uint64_t address);
  bool is_valid(unsigned c) const;  // the caller holds the lock of the class
  void link(Central& central, Span* slab);
  void unlink(Central& central, Span* slab);

  const Classes* classes_ = nullptr;
  bool colour_ = false;
  Central central_[most_classes];
};

extern Slabs slabs;

// The number of units in a slab of such slots.
constexpr uint64_t slab_units(uint32_t slot_size) {
  return slot_size <= 528 ? 1 : 4;
}

}  // namespace stab::heap
