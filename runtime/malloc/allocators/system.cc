// SPDX-License-Identifier: MIT
#include "runtime/malloc/allocators/system.h"

#include <dlfcn.h>

#include "runtime/malloc/allocators/allocator.h"

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_memalign(size_t, size_t);
void* __libc_realloc(void*, size_t);
void __libc_free(void*);
__attribute__((weak)) int __register_atfork(void (*)(), void (*)(), void (*)(), void*);
}

namespace stab::heap {
namespace {

template <class Function>
void look_for(Function& function, const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name); found != nullptr)
    function = reinterpret_cast<Function>(found);
}

size_t (*usable)(void*);

}  // namespace

constinit System system_heap = {__libc_malloc, __libc_calloc, __libc_memalign, __libc_realloc,
                                __libc_free};

void find_system_heap() {
  look_for(system_heap.allocate, "malloc");
  look_for(system_heap.allocate_zeroed, "calloc");
  look_for(system_heap.allocate_aligned, "memalign");
  look_for(system_heap.resize, "realloc");
  look_for(system_heap.release, "free");
  // Not at its first call: dlsym frees the message of an earlier failure, and that would ask for it.
  look_for(usable, "malloc_usable_size");
}

// The object that defines __register_atfork is libc; other allocators may define __libc_malloc.
// Where the next malloc is libstabheap.so's, that library knows what lies behind it.
const char* file_of_other_heap() {
  Dl_info libc = {};
  Dl_info found = {};
  dladdr(reinterpret_cast<void*>(__register_atfork), &libc);
  if (dladdr(dlsym(RTLD_NEXT, "malloc"), &found) == 0) return "?";
  if (found.dli_fbase == libc.dli_fbase) return nullptr;
  if (void* ask = dlsym(RTLD_NEXT, "stab_other_heap"); ask != nullptr)
    return reinterpret_cast<const char* (*)()>(ask)();
  dlerror();  // forgets the failure, so that the program's next call does not report it
  return found.dli_fname;
}

size_t usable_in_system(void* block) {
  return usable == nullptr ? 0 : usable(block);
}

}  // namespace stab::heap
