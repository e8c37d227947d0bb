// SPDX-License-Identifier: MIT
// Chooses the allocator that serves this process, and counts its work for the report.
//
// Invariants:
//   1. One thread chooses: no other thread calls malloc or a similar function until it has chosen.
//   2. An allocator is opened once in a process.
#pragma once

#include <stdint.h>

#include "runtime/base/line.h"
#include "runtime/base/options.h"
#include "runtime/malloc/allocators/allocator.h"

namespace stab::heap {

// The options of this process. If they don't say whether the heap is on, the default applies.
rt::Options heap_options(rt::Line& complaints);
extern const bool heap_by_default;

// The first call chooses by the options with which the process was started. The system's allocator
// serves all blocks that are needed to choose.
const Allocator& chosen();

// Whether that choice has been made.
bool is_chosen();

struct HeapCounts {
  bool known = false;       // the system's allocator does not count
  uint64_t operations = 0;  // number of blocks that were taken and given back
  uint64_t bytes = 0;       // size of all blocks that were taken
  uint64_t unshuffled = 0;  // bytes of large blocks, and of blocks kept near others
};
// It takes no lock, so that a signal handler that calls _exit() may ask.
HeapCounts heap_counts();

// Whether chosen() serves blocks at random places.
bool is_heap_on();
// The reason why the heap is off although the options ask for it, or nullptr.
const char* heap_problem();
// The file of an allocator other than libc's. It is nullptr if there is no such allocator, or if
// the options ask for no heap.
const char* heap_of_others();

// The heap's part of the report:

// Adds "heap" (on or off), "allocator" if the heap is on, "heap_why" if the options ask for the
// heap but it is off, and "other_allocator" if the program has an allocator other than libc's.
void add_start(rt::Line& line, const rt::Options& options);
// Adds the operations, the bytes, and the bytes whose addresses were not random, if the heap is on
// and its allocator counts them.
void add_counts(rt::Line& line);

}  // namespace stab::heap
