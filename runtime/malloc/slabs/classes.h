// SPDX-License-Identifier: MIT
// The sizes of slots. A class is an index; a request gets a slot of the smallest class that fits.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace stab::heap {

constexpr size_t largest_slot = 32768 + 144;
constexpr unsigned most_classes = 48;

struct Classes {
  unsigned count = 0;
  uint32_t offset = 0;  // what sizes beyond 1024 have above a multiple of 128
  uint32_t size[most_classes] = {};
  uint8_t of_small[65] = {};    // by size / 16, rounded up, to 1024
  uint8_t of_medium[259] = {};  // by (size - offset) / 128, rounded up

  // `bytes` is at most largest().
  [[nodiscard]] unsigned of(size_t bytes) const {
    return bytes <= 1024 ? of_small[(bytes + 15) / 16] : of_medium[(bytes - offset + 127) / 128];
  }
  [[nodiscard]] constexpr uint32_t largest() const { return size[count - 1]; }
  // The largest class whose slots are no larger than `bytes`, which is at least the smallest size.
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

// If sizes were multiples of 128, bit 6 would be the same in all addresses of a slab; with larger
// powers of two more bits would be. So slots are 16 bytes larger, and multiples of half a page are
// 144 bytes larger.
constexpr uint32_t stride_of(uint32_t size) {
  if (size <= 64 || size % 128 != 0) return size;
  return size % 2048 == 0 ? size + 144 : size + 16;
}

// Four classes for each doubling. The smallest size is 32: a small object and the text or number
// that it points to are often allocated one after the other, and lie near each other if both are of
// one class.
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

}  // namespace stab::heap
