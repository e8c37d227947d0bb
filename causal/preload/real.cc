// SPDX-License-Identifier: MIT
#include "causal/preload/real.h"

#include <dlfcn.h>

namespace stab::causal {
namespace {

struct Entry {
  const char* name;
  const char* version;  // "": the default version
};

constexpr Entry entries[] = {
#define STAB_CALL(kind, name, version) {#name, version},
#include "causal/preload/interposed.inc"
#undef STAB_CALL
};
constexpr uint32_t entry_count = sizeof entries / sizeof *entries;

void* found[entry_count];

struct Attempt {
  Call of;
  const char* name;
};

constexpr Attempt attempts[] = {
    {Call::pthread_mutex_lock, "pthread_mutex_trylock"},
    {Call::pthread_mutex_timedlock, "pthread_mutex_trylock"},
    {Call::pthread_mutex_clocklock, "pthread_mutex_trylock"},
    {Call::pthread_rwlock_rdlock, "pthread_rwlock_tryrdlock"},
    {Call::pthread_rwlock_timedrdlock, "pthread_rwlock_tryrdlock"},
    {Call::pthread_rwlock_clockrdlock, "pthread_rwlock_tryrdlock"},
    {Call::pthread_rwlock_wrlock, "pthread_rwlock_trywrlock"},
    {Call::pthread_rwlock_timedwrlock, "pthread_rwlock_trywrlock"},
    {Call::pthread_rwlock_clockwrlock, "pthread_rwlock_trywrlock"},
    {Call::mtx_lock, "mtx_trylock"},
    {Call::mtx_timedlock, "mtx_trylock"},
    {Call::sem_wait, "sem_trywait"},
    {Call::sem_timedwait, "sem_trywait"},
    {Call::sem_clockwait, "sem_trywait"},
};

void* found_attempts[entry_count];

bool are_of_same_file(void* a, void* b) {
  dl_find_object of_a;
  dl_find_object of_b;
  return _dl_find_object(a, &of_a) == 0 && _dl_find_object(b, &of_b) == 0 &&
         of_a.dlfo_link_map == of_b.dlfo_link_map;
}

// Libc has some names twice. A library between us and libc defines the name without a version, and
// only an unversioned look-up finds that.
void* look_up(const Entry& entry) {
  void* next = dlsym(RTLD_NEXT, entry.name);
  if (*entry.version == '\0') return next;
  void* versioned = dlvsym(RTLD_NEXT, entry.name, entry.version);
  if (versioned == nullptr || (next != nullptr && !are_of_same_file(next, versioned))) return next;
  return versioned;
}

}  // namespace

void* real_function(Call call) {
  const auto i = static_cast<uint32_t>(call);
  void* function = __atomic_load_n(&found[i], __ATOMIC_RELAXED);
  if (__builtin_expect(function == nullptr, 0)) {
    function = look_up(entries[i]);
    __atomic_store_n(&found[i], function, __ATOMIC_RELAXED);
  }
  return function;
}

void* attempt_of(Call call) {
  return __atomic_load_n(&found_attempts[static_cast<uint32_t>(call)], __ATOMIC_RELAXED);
}

void find_all_real() {
  for (uint32_t i = 0; i < entry_count; ++i) real_function(static_cast<Call>(i));
  for (const Attempt& each : attempts) {
    void* function = dlsym(RTLD_NEXT, each.name);
    if (function != nullptr && are_of_same_file(function, real_function(each.of)))
      __atomic_store_n(&found_attempts[static_cast<uint32_t>(each.of)], function, __ATOMIC_RELAXED);
  }
}

}  // namespace stab::causal
