// SPDX-License-Identifier: MIT
// Slabs: spans of equal slots, with a bit for each slot apart from it. What all threads share of a
// class; they come here for many slots at a time.
//
// Invariants:
// 1. A slot belongs to the program, to a bag, or to its slab (its bit is set).
// 2. A slab is in its class's list exactly if it has free slots.
// 3. Slots do not overlap, lie in their span, and are 16-aligned.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/random.h"
#include "runtime/malloc/memory/lock.h"
#include "runtime/malloc/memory/span.h"
#include "runtime/malloc/slabs/classes.h"

namespace stab::heap {

// Up to 64 slots that lie together, in the order of their addresses: a bit for each, from `base`
// on.
struct Row {
  uint64_t base;
  uint64_t bits;
};

class Slabs {
 public:
  // colour: the first slot of a slab is at a random place.
  void open(const Classes& classes, bool colour, uint64_t seed);
  void reseed(uint64_t seed);

  [[nodiscard]] const Classes& classes() const { return *classes_; }
  // Bytes of the class's slabs.
  uint64_t bytes(unsigned c) const { return __atomic_load_n(&central_[c].bytes, __ATOMIC_RELAXED); }

  // How many it found; fewer than `count` only if there is no memory. In address order but for the
  // order of slabs.
  unsigned take(unsigned c, void** slots, unsigned count);
  // Rows follow each other, in an unused slab from a random slot on. Returns false if there is no
  // memory.
  bool take_row(unsigned c, Row& row);
  // What is no slot of the program, or free already, is left out and noted: end_if_damaged.
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
  bool is_valid(unsigned c) const;  // with its lock
  void link(Central& central, Span* slab);
  void unlink(Central& central, Span* slab);

  const Classes* classes_ = nullptr;
  bool colour_ = false;
  Central central_[most_classes];
};

extern Slabs slabs;

// Bytes of a slab of such slots.
constexpr uint64_t slab_units(uint32_t slot_size) {
  return slot_size <= 528 ? 1 : 4;
}

}  // namespace stab::heap
