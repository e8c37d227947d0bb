// SPDX-License-Identifier: MIT
#include "runtime/start/region.h"

#include "runtime/base/os.h"
#include "runtime/epoch/epoch.h"

namespace stab::rt {
namespace {

uint64_t depth;
uint64_t entered_at;
uint64_t total;
uint64_t count;

}  // namespace

uint64_t region_time() {
  return __atomic_load_n(&total, __ATOMIC_RELAXED);
}
uint64_t region_count() {
  return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

}  // namespace stab::rt

using namespace stab;

extern "C" __attribute__((visibility("default"))) void stab_begin() {
  if (__atomic_fetch_add(&rt::depth, 1, __ATOMIC_ACQ_REL) != 0) return;
  __atomic_fetch_add(&rt::count, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&rt::entered_at, os::monotonic_ns(), __ATOMIC_RELEASE);
}

// An end without a beginning is ignored.
extern "C" __attribute__((visibility("default"))) void stab_end() {
  const uint64_t now = os::monotonic_ns();
  uint64_t before = __atomic_load_n(&rt::depth, __ATOMIC_ACQUIRE);
  do
    if (before == 0) return;
  while (!__atomic_compare_exchange_n(&rt::depth, &before, before - 1, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_ACQUIRE));
  if (before == 1)
    __atomic_fetch_add(&rt::total, now - __atomic_load_n(&rt::entered_at, __ATOMIC_ACQUIRE),
                       __ATOMIC_RELAXED);
}

extern "C" __attribute__((visibility("default"))) void stab_randomize() {
  rt::randomize_now();
}
