// SPDX-License-Identifier: MIT
#include "runtime/malloc/memory/lock.h"

#include "runtime/base/os.h"

namespace stab::heap {
namespace {

constexpr int spins = 64;
constexpr uint64_t one_second = 1000000000;

}  // namespace

__thread bool holds_every_lock = false;
#if STAB_CHECKS >= 1
__thread int held = 0;
#endif

void Lock::wait() {
  if (holds_every_lock) return;
  for (int i = 0; i < spins; ++i) {
    uint32_t open = 0;
    if (__atomic_compare_exchange_n(&state_, &open, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      return;
    __builtin_ia32_pause();
  }
  while (__atomic_exchange_n(&state_, 2, __ATOMIC_ACQUIRE) != 0)
    os::wait_for_change(&state_, 2, one_second);
}

void Lock::wake() {
  os::wake_all(&state_);
}

}  // namespace stab::heap
