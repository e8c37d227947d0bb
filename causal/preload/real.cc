// SPDX-License-Identifier: MIT
#include "causal/preload/real.h"

#include <dlfcn.h>

namespace stab::causal {
namespace {

struct Entry {
  const char* name;
  const char* version;  // "": the default
};

constexpr Entry entries[] = {
#define STAB_CALL(kind, name, version) {#name, version},
#include "causal/preload/interposed.inc"
#undef STAB_CALL
};
constexpr uint32_t entry_count = sizeof entries / sizeof *entries;

void* found[entry_count];

void* look_up(const Entry& entry) {
  void* function = nullptr;
  // Some names have an older version, which an unversioned look-up may give.
  if (*entry.version != '\0') function = dlvsym(RTLD_NEXT, entry.name, entry.version);
  return function != nullptr ? function : dlsym(RTLD_NEXT, entry.name);
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

void find_all_real() {
  for (uint32_t i = 0; i < entry_count; ++i) real_function(static_cast<Call>(i));
}

}  // namespace stab::causal
