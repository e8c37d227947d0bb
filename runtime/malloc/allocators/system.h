// SPDX-License-Identifier: MIT
// The allocator that the program would use without ours: libc's, one that it links, or one that
// LD_PRELOAD loaded. All blocks that are not ours belong to it.
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

// Fills system_heap, which is libc's until then, and finds what usable_in_system calls.
void find_system_heap();
// The file of the system's allocator; nullptr: it is libc's. Others define more functions than we
// do (operator new, sized delete, sdallocx), and blocks of ours must not reach those.
const char* file_of_other_heap();

// 0 before find_system_heap.
size_t usable_in_system(void* block);

}  // namespace stab::heap
