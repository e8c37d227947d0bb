// SPDX-License-Identifier: MIT
// libstabnew.so: if an allocator has its own operator new (jemalloc, tcmalloc, mimalloc), this
// operator new calls malloc, so that the layer swaps its blocks. It is preloaded behind
// libstabheap.so, and only into programs that have such an allocator, or into all that a shell
// starts if one of them may have it. That allocator's own delete gives the block back, because it
// accepts blocks of its malloc.
//
// Nothing is changed if operator new and malloc are not in the same object. Then operator new is
// libstdc++'s, which calls malloc anyway, or another one, whose blocks only its own delete
// understands. If there is no other operator new, as in a C program that loads a plugin with a C++
// runtime of its own, this one calls malloc, because that runtime's delete calls free.
#include <dlfcn.h>
#include <stddef.h>

#include "runtime/base/os.h"

extern "C" void* malloc(size_t size);

namespace {

using New = void* (*)(size_t);
using NewOrNull = void* (*)(size_t, const void*);

struct Found {
  void* function;  // the program's own, which throws an exception or calls the new-handler
  bool is_of_malloc;
};

constexpr const char* names[] = {"_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t"};
Found found[4];

// These take the place of an operator new that was not found, and are called if malloc fails.
void* end_program(size_t) {
  constexpr char message[] = "stabilizer: libstabnew.so cannot find operator new\n";
  stab::os::write_all(2, message, sizeof message - 1);
  stab::os::exit_process(125);
}

void* give_null(size_t, const void*) {
  return nullptr;
}

// Several threads may do the same look-up at the same time.
__attribute__((noinline)) const Found& look_for(unsigned which) {
  Dl_info of_malloc = {};
  Dl_info of_new = {};
  void* function = dlsym(RTLD_NEXT, names[which]);
  if (function == nullptr) {  // dlopen loaded C++ later, without RTLD_GLOBAL
    constexpr const char* runtimes[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
    for (const char* name : runtimes)
      if (void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
          library != nullptr && function == nullptr)
        function = dlsym(library, names[which]);
  }
  if (function == nullptr) {
    function =
        which < 2 ? reinterpret_cast<void*>(end_program) : reinterpret_cast<void*>(give_null);
    found[which].is_of_malloc = true;
  } else {
    dladdr(dlsym(RTLD_NEXT, "malloc"), &of_malloc);
    dladdr(function, &of_new);
    found[which].is_of_malloc =
        of_malloc.dli_fbase != nullptr && of_malloc.dli_fbase == of_new.dli_fbase;
  }
  __atomic_store_n(&found[which].function, function, __ATOMIC_RELEASE);
  return found[which];
}

const Found& of(unsigned which) {
  if (__atomic_load_n(&found[which].function, __ATOMIC_ACQUIRE) == nullptr) return look_for(which);
  return found[which];
}

void* allocate(unsigned which, size_t size) {
  const Found& own = of(which);
  if (own.is_of_malloc)
    if (void* block = malloc(size); block != nullptr) return block;
  return reinterpret_cast<New>(own.function)(size);
}

void* allocate_or_null(unsigned which, size_t size, const void* tag) {
  const Found& own = of(which);
  if (own.is_of_malloc)
    if (void* block = malloc(size); block != nullptr) return block;
  return reinterpret_cast<NewOrNull>(own.function)(size, tag);
}

}  // namespace

#define STAB_PUBLIC __attribute__((visibility("default")))

extern "C" {
STAB_PUBLIC void* _Znwm(size_t size) {
  return allocate(0, size);
}
STAB_PUBLIC void* _Znam(size_t size) {
  return allocate(1, size);
}
STAB_PUBLIC void* _ZnwmRKSt9nothrow_t(size_t size, const void* tag) {
  return allocate_or_null(2, size, tag);
}
STAB_PUBLIC void* _ZnamRKSt9nothrow_t(size_t size, const void* tag) {
  return allocate_or_null(3, size, tag);
}
}
