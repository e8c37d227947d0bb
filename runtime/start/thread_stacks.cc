// SPDX-License-Identifier: MIT
#include "runtime/start/thread_stacks.h"

#include <dlfcn.h>

#include "runtime/base/os.h"
#include "runtime/start/sandbox.h"

namespace stab::rt {
namespace {

constexpr uint64_t growth = 8;
constexpr uint64_t extra = 128 * 1024;

// Functions of libc, or of libpthread, which may be missing.
struct Attributes {
  int (*get_default)(pthread_attr_t*);
  int (*set_default)(const pthread_attr_t*);
  int (*get_size)(const pthread_attr_t*, size_t*);
  int (*set_size)(pthread_attr_t*, size_t);
  int (*get_stack)(const pthread_attr_t*, void**, size_t*);
};

constinit Attributes libc = {};
bool known;       // all functions were found
uint64_t before;  // the program's original default size
bool raised;      // the default size is larger now
uint64_t small_count;

template <class T>
bool find(T& function, const char* name) {
  function = reinterpret_cast<T>(dlsym(RTLD_NEXT, name));
  return function != nullptr;
}

bool find_functions() {
  return find(libc.get_default, "pthread_getattr_default_np") &&
         find(libc.set_default, "pthread_setattr_default_np") &&
         find(libc.get_size, "pthread_attr_getstacksize") &&
         find(libc.set_size, "pthread_attr_setstacksize") &&
         find(libc.get_stack, "pthread_attr_getstack");
}

uint64_t larger(uint64_t size) {
  if (size >= stack_wanted) return size;
  const uint64_t most = size * growth + extra;
  return most < stack_wanted ? most : stack_wanted;
}

bool set_default(uint64_t size) {
  pthread_attr_t attributes;
  return libc.get_default(&attributes) == 0 && libc.set_size(&attributes, size) == 0 &&
         libc.set_default(&attributes) == 0;
}

bool lower_default() {
  __atomic_store_n(&raised, false, __ATOMIC_RELAXED);
  return set_default(before);
}

// Whether the address space was limited when it was last safe to ask the kernel.
bool is_limited() {
  static bool last;
  if (!may_be_in_sandbox())
    __atomic_store_n(&last, os::address_space_is_limited(), __ATOMIC_RELAXED);
  return __atomic_load_n(&last, __ATOMIC_RELAXED);
}

// Room that larger stacks take would be missing for later threads, and for everything else.
const pthread_attr_t* without_more_stack(const pthread_attr_t* own) {
  if (__atomic_load_n(&raised, __ATOMIC_RELAXED)) lower_default();
  const uint64_t size = stack_size(own);
  if (larger(size) != size) count_small_stack();
  return own;
}

}  // namespace

const char* raise_default_stack(const BeforeStart& /*proof*/) {
  known = find_functions();
  pthread_attr_t attributes;
  size_t size = 0;
  if (!known || libc.get_default(&attributes) != 0 || libc.get_size(&attributes, &size) != 0)
    return "the size of thread stacks is unknown";
  before = size;
  if (larger(size) == size) return nullptr;
  if (is_limited()) return "the address space is limited";
  raised = set_default(larger(size));
  return raised ? nullptr : "the size of thread stacks cannot be raised";
}

const pthread_attr_t* with_more_stack(const pthread_attr_t* own, pthread_attr_t& room) {
  void* start = nullptr;
  size_t size = 0;
  if (!known) return own;
  if (is_limited()) return without_more_stack(own);
  if (own == nullptr || libc.get_stack(own, &start, &size) != 0) return own;
  const bool is_own_memory = reinterpret_cast<uint64_t>(start) + size != 0;
  if (is_own_memory || size == 0 || larger(size) == size) return own;
  room = *own;
  return libc.set_size(&room, larger(size)) == 0 ? &room : own;
}

bool retreat_to(const pthread_attr_t* own, const pthread_attr_t* used) {
  if (own != used) return true;
  void* start = nullptr;
  size_t size = 0;
  if (!known || larger(before) == before) return false;
  if (own != nullptr && (libc.get_stack(own, &start, &size) != 0 || size != 0)) return false;
  return lower_default();
}

void count_small_stack() {
  __atomic_fetch_add(&small_count, 1, __ATOMIC_RELAXED);
}

uint64_t small_stacks() {
  return __atomic_load_n(&small_count, __ATOMIC_RELAXED);
}

uint64_t stack_size(const pthread_attr_t* attributes) {
  size_t size = 0;
  if (!known) return 0;
  if (attributes != nullptr) return libc.get_size(attributes, &size) == 0 ? size : 0;
  return __atomic_load_n(&raised, __ATOMIC_RELAXED) ? larger(before) : before;
}

}  // namespace stab::rt
