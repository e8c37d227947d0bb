// SPDX-License-Identifier: MIT
// The time in regions that the program marks. Any thread and any signal handler may call this;
// valid when zero.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace stab::rt {

// One region. If it is begun several times before it ends, in any threads, it counts once: from the
// first beginning to the last end. An end without a beginning is ignored.
class RegionClock {
 public:
  void begin();
  void end();

  // How often the region was begun, and the time in it; nested beginnings do not count. A region
  // that is open counts as ending now.
  [[nodiscard]] uint64_t count() const;
  [[nodiscard]] uint64_t time() const;
  [[nodiscard]] bool is_open() const;

 private:
  uint64_t depth_;
  uint64_t count_;
  // Each beginning subtracts the time, and each end adds it. So the sum of an open region is
  // negative, and an end in one thread and a beginning in another may come in any order.
  uint64_t sum_;
};

// R1: a region's name has 1 to 40 letters, digits, '_', '.' and '-'.
// R2: a program has room for 64 of them; the beginnings of others are only counted.
inline constexpr size_t max_region_name = 40;
inline constexpr size_t max_regions = 64;

struct NamedRegion {
  uint64_t key;                    // a hash of the name; 0: the slot is free
  uint64_t is_named;               // the name is complete
  char name[max_region_name + 1];  // terminated by a zero
  RegionClock clock;
};

class NamedRegions {
 public:
  void begin(const char* name);
  void end(const char* name);

  // Returns nullptr if there is no region with that number, or if it was never begun.
  [[nodiscard]] const NamedRegion* at(size_t index) const;
  // Beginnings that do not count, because of R1 or R2, or because their thread ended before the
  // name was complete.
  [[nodiscard]] uint64_t refused() const;

 private:
  NamedRegion regions_[max_regions];
  uint64_t refused_;
};

}  // namespace stab::rt
