// SPDX-License-Identifier: MIT
// The memory that copies live in: one reservation within reach of a 32-bit displacement from all of
// the image.
//
//   | half 0 | half 1 | stubs | unwind |
//
// Epochs alternate between the halves; a run that randomizes once commits the first only. Nothing
// is ever writable and executable at a time.
#pragma once

#include <stdint.h>

#include "runtime/random.h"

namespace stab::rt {

struct CodeHeap {
  uint8_t* start = nullptr;
  uint64_t half_size = 0;  // of either half
  uint64_t stubs_size = 0;
  uint64_t unwind_size = 0;

  [[nodiscard]] uint8_t* half(unsigned which) const { return start + which * half_size; }
  [[nodiscard]] uint8_t* stubs() const { return start + 2 * half_size; }
  [[nodiscard]] uint8_t* unwind() const { return stubs() + stubs_size; }
  [[nodiscard]] uint64_t size() const { return 2 * half_size + stubs_size + unwind_size; }
  [[nodiscard]] bool holds(uint64_t address) const {
    return address - reinterpret_cast<uint64_t>(start) < 2 * half_size + stubs_size;
  }
};

// Reserves the sizes that `heap` has (multiples of the page size) at random near [low, high), and
// makes half 0, the stubs and the unwind part writable. False: there is no such memory; nothing
// stays reserved.
bool reserve_near(CodeHeap& heap, uint64_t low, uint64_t high, Random& random);

// Half 0 and stubs become executable, the unwind part read-only. False: refused.
bool seal(const CodeHeap& heap);

void release(CodeHeap& heap);

}  // namespace stab::rt
