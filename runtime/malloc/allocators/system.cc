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
size_t (*good_size)(size_t);
size_t (*good_size_with_flags)(size_t, int);

// Finds the function if it is defined by the same object as malloc.
template <class Function>
void look_for_beside_malloc(Function& function, const char* name) {
  Dl_info of_malloc = {};
  Dl_info of_other = {};
  void* found = dlsym(RTLD_NEXT, name);
  if (found == nullptr || dladdr(dlsym(RTLD_NEXT, "malloc"), &of_malloc) == 0) return;
  if (dladdr(found, &of_other) == 0 || of_other.dli_fbase != of_malloc.dli_fbase) return;
  function = reinterpret_cast<Function>(found);
}

size_t size_of_libc_class(size_t size) {
  return size <= 24 ? 24 : (size - 8 + 15) / 16 * 16 + 8;
}

}  // namespace

constinit System system_heap = {__libc_malloc,  __libc_calloc, __libc_memalign,
                                __libc_realloc, __libc_free,   __libc_memalign};
constinit SystemRest system_rest = {};

void find_system_heap() {
  look_for(system_heap.allocate, "malloc");
  look_for(system_heap.allocate_zeroed, "calloc");
  look_for(system_heap.allocate_aligned, "memalign");
  look_for(system_heap.resize, "realloc");
  look_for(system_heap.release, "free");
  look_for(system_heap.aligned_alloc, "aligned_alloc");
  // It can't be looked up at its first call: dlsym frees the message of an earlier failure, which
  // would call it again.
  look_for(usable, "malloc_usable_size");
  look_for(system_rest.trim, "malloc_trim");
  const bool is_libc = file_of_other_heap() == nullptr;
  const auto look = [&](auto& function, const char* name) {
    if (is_libc)
      look_for(function, name);
    else
      look_for_beside_malloc(function, name);
  };
  look(system_rest.posix_memalign, "posix_memalign");
  look(system_rest.valloc, "valloc");
  look(system_rest.pvalloc, "pvalloc");
  look(system_rest.reallocarray, "reallocarray");
  if (is_libc) {
    good_size = size_of_libc_class;
  } else {
    look(good_size_with_flags, "nallocx");
    look(good_size, "mi_good_size");
  }
  dlerror();  // forgets the failures, so that the program's next call does not report them
}

// libc is the object that defines __register_atfork; other allocators may define __libc_malloc. If
// the next malloc is libstabheap.so's, that library knows which allocator comes after it.
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

size_t size_of_system_class(size_t size) {
  const size_t rounded = (size + 7) / 8 * 8;
  const size_t good = good_size_with_flags != nullptr ? good_size_with_flags(size, 0)
                      : good_size != nullptr          ? good_size(size)
                                                      : rounded;
  return good < rounded || good > 2 * rounded + 64 ? rounded : good;
}

size_t usable_in_system(void* block) {
  return usable == nullptr ? 0 : usable(block);
}

namespace {

void* allocate(size_t size) {
  return system_heap.allocate(size);
}
void* allocate_zeroed(size_t size) {
  return system_heap.allocate_zeroed(1, size);
}
void* allocate_aligned(size_t alignment, size_t size) {
  return system_heap.allocate_aligned(alignment, size);
}
void release(void* block) {
  system_heap.release(block);
}
void* resize(void* block, size_t size) {
  return system_heap.resize(block, size);
}

}  // namespace

constinit const Allocator plain = {"libc",  allocate, allocate_zeroed, allocate_aligned,
                                   release, resize,   usable_in_system};

}  // namespace stab::heap
