// SPDX-License-Identifier: MIT
// A lock for data that threads share, on futexes; valid when zero. While the process has only one
// thread, the lock is taken and released without atomic operations, which would cost more than the
// rest of an allocation. A signal handler of that thread still finds the lock taken while the data
// is being changed: the compiler moves no change across the two stores.
#pragma once

#include <stdint.h>

#include "runtime/base/check.h"

extern "C" __attribute__((weak)) char __libc_single_threaded;  // since 2.32

namespace stab::heap {

// Whether libc says that there is only one thread. libc's own heap skips its locks for the same
// reason, so threads that libc does not know can't use either heap.
inline bool is_single_threaded() {
  return &__libc_single_threaded != nullptr && __libc_single_threaded != 0;
}

// A thread that forks holds all locks of the heap until it has forked. It skips locking meanwhile,
// because the program's fork handlers may allocate.
extern __thread bool holds_every_lock __attribute__((tls_model("initial-exec")));

// The number of locks that this thread holds; known only if checks are on.
#if STAB_CHECKS >= 1
extern __thread int held __attribute__((tls_model("initial-exec")));
inline int locks_held() {
  return held;
}
inline void count_lock(int change) {
  if (!holds_every_lock) held += change;
}
#else
inline int locks_held() {
  return 0;
}
inline void count_lock(int /*change*/) {}
#endif

class Lock {
 public:
  void lock() {
    uint32_t open = 0;
    if (is_single_threaded() && __atomic_load_n(&state_, __ATOMIC_RELAXED) == open) {
      __atomic_store_n(&state_, 1, __ATOMIC_RELAXED);
      __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } else if (!__atomic_compare_exchange_n(&state_, &open, 1, false, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED)) {
      wait();
    }
    count_lock(1);
  }
  void unlock() {
    if (holds_every_lock) return;
    count_lock(-1);
    if (is_single_threaded())
      __atomic_store_n(&state_, 0, __ATOMIC_RELEASE);
    else if (__atomic_exchange_n(&state_, 0, __ATOMIC_RELEASE) == 2)
      wake();
  }

 private:
  void wait();
  void wake();

  uint32_t state_ = 0;  // 1: taken; 2: taken, and somebody waits
};

class Guard {
 public:
  explicit Guard(Lock& lock) : lock_(lock) { lock_.lock(); }
  ~Guard() { lock_.unlock(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  Lock& lock_;
};

}  // namespace stab::heap
