// SPDX-License-Identifier: MIT
// Which allocator serves this process, and what it did.
//
// Invariants:
//   1. One thread chooses: no other one calls malloc or its like until it has.
//   2. An allocator is opened once in a process.
#pragma once

#include <stdint.h>

#include "runtime/base/options.h"
#include "runtime/malloc/allocators/allocator.h"

namespace stab::heap {

// The options of this process. Where they do not say whether the heap is on, the default holds.
rt::Options heap_options(rt::Line& complaints);
extern const bool heap_by_default;

// The first call chooses by the options that the process was started with. What the choice itself
// allocates is of the system's.
const Allocator& chosen();

// Whether that choice has been made.
bool is_chosen();

struct HeapCounts {
  bool known = false;       // the system's allocator does not count
  uint64_t operations = 0;  // blocks that were taken, and given back
  uint64_t bytes = 0;       // of the blocks that were taken
  uint64_t unshuffled = 0;  // of these: large blocks, and blocks kept near others
};
// It takes no lock, so that a signal handler that calls _exit() may ask.
HeapCounts heap_counts();

// Whether chosen() serves blocks at random places.
bool is_heap_on();
// Why the heap is off although the options ask for it; nullptr: it is on, or nobody asked.
const char* heap_problem();
// The file of another allocator than libc's; nullptr: there is none, or nobody asked for a heap.
const char* heap_of_others();

}  // namespace stab::heap
