// SPDX-License-Identifier: MIT
// The time in regions that the program marks. Any thread and any signal handler; valid when zero.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace stab::rt {

// One region. Where it was begun several times, by whichever threads, it counts once: from the
// first beginning to the last end. An end without a beginning is ignored.
class RegionClock {
 public:
  void begin();
  void end();

  // Of the outermost ones: how often they were begun, and the time in them. One that is open ends
  // now.
  [[nodiscard]] uint64_t count() const;
  [[nodiscard]] uint64_t time() const;
  [[nodiscard]] bool is_open() const;

 private:
  uint64_t depth_;
  uint64_t count_;
  // Each end adds the time, each beginning takes it away. So an open region makes it negative, and
  // an end in one thread and a beginning in another are right in any order.
  uint64_t sum_;
};

// R1: a name of a region has 1 to 40 letters, digits, '_', '.' and '-'.
// R2: a program has 64 of them; what does not fit is counted.
inline constexpr size_t max_region_name = 40;
inline constexpr size_t max_regions = 64;

struct NamedRegion {
  uint64_t key;                    // a hash of the name; 0: free
  uint64_t is_named;               // the name is complete
  char name[max_region_name + 1];  // with a zero behind it
  RegionClock clock;
};

class NamedRegions {
 public:
  void begin(const char* name);
  void end(const char* name);

  // nullptr: there is none of that number, or it was never begun.
  [[nodiscard]] const NamedRegion* at(size_t index) const;
  // Beginnings that do not count, by R1 and R2, or as their thread ended before the name was there.
  [[nodiscard]] uint64_t refused() const;

 private:
  NamedRegion regions_[max_regions];
  uint64_t refused_;
};

}  // namespace stab::rt
