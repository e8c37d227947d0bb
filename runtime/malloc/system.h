// SPDX-License-Identifier: MIT
// The allocator that the program would have without us: libc's, or one that it links or that
// LD_PRELOAD brought. Blocks that are not ours are its.
#pragma once

#include <stddef.h>

namespace stab::heap {

struct System {
  void* (*allocate)(size_t);
  void* (*allocate_zeroed)(size_t, size_t);
  void* (*allocate_aligned)(size_t, size_t);
  void* (*resize)(void*, size_t);
  void (*release)(void*);
};

extern System system_heap;

// Looks for another one than libc's. May be left out: then it is libc's.
void find_system_heap();

size_t usable_in_system(void* block);

}  // namespace stab::heap
