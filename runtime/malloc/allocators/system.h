// SPDX-License-Identifier: MIT
// The allocator that the program would use without ours: libc's, one that it links, or one that
// LD_PRELOAD loaded. Every block that is not ours belongs to this allocator.
#pragma once

#include <stddef.h>

namespace stab::heap {

struct System {
  void* (*allocate)(size_t);
  void* (*allocate_zeroed)(size_t, size_t);
  void* (*allocate_aligned)(size_t, size_t);
  void* (*resize)(void*, size_t);
  void (*release)(void*);
  void* (*aligned_alloc)(size_t, size_t);  // an allocator may define it without memalign
};

extern System system_heap;

// Other functions of the family. One is nullptr if the object that defines malloc does not define
// it.
struct SystemRest {
  int (*posix_memalign)(void**, size_t, size_t);
  void* (*valloc)(size_t);
  void* (*pvalloc)(size_t);
  void* (*reallocarray)(void*, size_t, size_t);
  int (*trim)(size_t);
};
extern SystemRest system_rest;

// Fills system_heap and system_rest; system_heap is libc's until then. Also finds the function that
// usable_in_system calls.
void find_system_heap();
// The file of the system's allocator, or nullptr if the allocator is libc's. Other allocators
// define more functions than we do (operator new, sized delete, sdallocx), and these must not get
// our blocks.
const char* file_of_other_heap();

// The largest request for which the system's allocator makes the same block as for `size`:
// jemalloc's and tcmalloc's nallocx and mimalloc's mi_good_size tell it, and libc's sizes are
// known. For any other allocator it is the next multiple of 8.
size_t size_of_system_class(size_t size);

// Returns 0 before find_system_heap.
size_t usable_in_system(void* block);

}  // namespace stab::heap
