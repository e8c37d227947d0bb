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

// Looks for another one than libc's, which stands here until then.
void find_system_heap();
// Its file, or nullptr if it is libc's. Another one has more names than ours (operator new, sized
// delete, sdallocx), which take and give its own blocks: blocks of ours must not reach it.
const char* file_of_other_heap();

size_t usable_in_system(void* block);

}  // namespace stab::heap
