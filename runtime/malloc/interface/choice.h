// SPDX-License-Identifier: MIT
// Which allocator serves this process, and what it did.
#pragma once

#include <stdint.h>

#include "runtime/base/options.h"
#include "runtime/malloc/allocators/allocator.h"

namespace stab::heap {

// Of this process, heap=1 included where nothing was said and it is the default.
rt::Options heap_options(rt::Line& complaints);
extern const bool heap_by_default;

// By the options that the process was started with. The first call decides, on the thread that
// makes it, while there is one thread or nobody else has a block.
const Allocator& chosen();

struct HeapCounts {
  bool known = false;       // the system's allocator does not count
  uint64_t operations = 0;  // blocks that were taken, and given back
  uint64_t bytes = 0;       // of the blocks that were taken
  uint64_t unshuffled = 0;  // of these: large blocks, and blocks kept near others
};
HeapCounts heap_counts();  // takes no lock, so _exit() in a signal handler may ask

// Whether chosen() serves blocks at random places.
bool is_heap_on();
// Why heap=1 does nothing, or nullptr.
const char* heap_problem();
// The file of another allocator, if that is why; or nullptr.
const char* heap_of_others();

}  // namespace stab::heap
