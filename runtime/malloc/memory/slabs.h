// SPDX-License-Identifier: MIT
// Slabs are spans of equal slots. Each slot has a bit, and the bits lie apart from the slots. All
// threads share the slabs of a class, and caches take and give many slots at a time.
//
// Invariants:
//   1. A slot belongs to the program, to a bag, or to its slab (its bit is set).
//   2. A slab is in its class's list if and only if it has free slots.
//   3. Slots do not overlap, lie in their span and are aligned to 16 bytes.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/random.h"
#include "runtime/malloc/memory/arena.h"
#include "runtime/malloc/memory/lock.h"

namespace stab::heap {

// The size classes of slots. A class is an index, and a request gets a slot of the smallest class
// that fits.

constexpr size_t largest_slot = 32768 + 144;
constexpr unsigned most_classes = 48;

struct Classes {
  unsigned count = 0;
  uint32_t offset = 0;  // sizes beyond 1024 exceed a multiple of 128 by this
  uint32_t size[most_classes] = {};
  uint8_t of_small[65] = {};    // by size / 16, rounded up, to 1024
  uint8_t of_medium[259] = {};  // by (size - offset) / 128, rounded up

  // `bytes` is at most largest().
  [[nodiscard]] unsigned of(size_t bytes) const {
    return bytes <= 1024 ? of_small[(bytes + 15) / 16] : of_medium[(bytes - offset + 127) / 128];
  }
  [[nodiscard]] constexpr uint32_t largest() const { return size[count - 1]; }
  // The largest class whose slots are not larger than `bytes`, which is at least the smallest size.
  [[nodiscard]] unsigned within(size_t bytes) const {
    if (bytes >= largest()) return count - 1;
    const unsigned above = of(bytes);
    return size[above] == bytes ? above : above - 1;
  }
};

constexpr void index(Classes& classes) {
  unsigned c = 0;
  for (unsigned i = 0; i < 65; ++i) {
    while (classes.size[c] < i * 16) ++c;
    classes.of_small[i] = static_cast<uint8_t>(c);
  }
  c = 0;
  for (unsigned i = 0; i < 259; ++i) {
    while (c + 1 < classes.count && classes.size[c] < i * 128 + classes.offset) ++c;
    classes.of_medium[i] = static_cast<uint8_t>(c);
  }
}

// If sizes were multiples of 128, bit 6 would be the same in all addresses of a slab, and with
// larger powers of two so would more bits. So slots are 16 bytes larger, and multiples of half a
// page are 144 bytes larger.
constexpr uint32_t stride_of(uint32_t size) {
  if (size <= 64 || size % 128 != 0) return size;
  return size % 2048 == 0 ? size + 144 : size + 16;
}

// There are four classes for each doubling. The smallest size is 32: a small object and the text or
// number that it points to are often allocated one after the other, and lie near each other if both
// belong to one class.
constexpr Classes make_fine_classes() {
  Classes classes;
  classes.offset = 16;
  for (uint32_t size = 32; size <= 64; size += 16) classes.size[classes.count++] = size;
  for (uint32_t base = 128; base <= 32768; base *= 2)
    for (uint32_t eighth = 5; eighth <= 8; ++eighth)
      classes.size[classes.count++] = stride_of(base / 8 * eighth);
  index(classes);
  return classes;
}

constexpr Classes make_power_classes() {
  Classes classes;
  for (uint32_t size = 16; size <= 32768; size *= 2) classes.size[classes.count++] = size;
  index(classes);
  return classes;
}

inline constexpr Classes fine_classes = make_fine_classes();
inline constexpr Classes power_classes = make_power_classes();

static_assert(fine_classes.count <= most_classes && fine_classes.largest() <= largest_slot);

// Up to 64 neighbouring slots from `base` on, in the order of their addresses. A bit is set if the
// slot belongs to the row.
struct Row {
  uint64_t base;
  uint64_t bits;
};

class Slabs {
 public:
  // With `colour`, the first slot of each slab is at a random offset.
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
  // An address that is not a slot, or whose slot is free, is skipped and noted for
  // end_if_damaged().
  void give(unsigned c, void* const* slots, unsigned count);
  void give_row(unsigned c, const Row& row);

  // Checks invariants 2 and 3, and that counts and bits agree.
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

// The number of units in a slab of slots of this size.
constexpr uint64_t slab_units(uint32_t slot_size) {
  return slot_size <= 528 ? 1 : 4;
}

}  // namespace stab::heap
