// SPDX-License-Identifier: MIT
// Cancelling a thread: libc installs its own handler of our signal when it first cancels one, and
// then our handler goes before libc's again.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "runtime/epoch/epoch_signal.h"

// Weak, because a program may define its own.
extern "C" __attribute__((weak, visibility("default"))) int pthread_cancel(pthread_t thread) {
  using Cancel = int (*)(pthread_t);
  static Cancel next;
  if (next == nullptr) next = reinterpret_cast<Cancel>(dlsym(RTLD_NEXT, "pthread_cancel"));
  if (next == nullptr) return ENOSYS;
  if (stab::rt::epoch_signal::is_answered()) stab::rt::epoch_signal::remember_flags();
  const int result = next(thread);
  if (stab::rt::epoch_signal::is_answered()) stab::rt::epoch_signal::install_again();
  return result;
}
