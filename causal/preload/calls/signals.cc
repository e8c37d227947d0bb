// SPDX-License-Identifier: MIT
// Keeps the signal of samples for the library. A program that blocks, handles or waits for all
// signals gets the others, and reads back what it has set.
#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/signalfd.h>

#include "causal/preload/real.h"
#include "causal/preload/sampler.h"
#include "causal/preload/thread.h"

using namespace stab::causal;

// Old programs still call deprecated functions.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace {

struct sigaction wanted_action;  // what the program has set for our signal

bool is_ours(int signal) {
  return signal == sample_signal && shared_file.head != nullptr;
}

sighandler_t want(sighandler_t handler) {
  const sighandler_t last = wanted_action.sa_handler;
  wanted_action.sa_handler = handler;
  return last;
}

// Returns `set` without our signal, in `copy`. Null stays null.
const sigset_t* without_ours(const sigset_t* set, sigset_t& copy) {
  if (set == nullptr || shared_file.head == nullptr) return set;
  copy = *set;
  sigdelset(&copy, sample_signal);
  return &copy;
}

void show(sigset_t& set, bool has_ours) {
  if (has_ours)
    sigaddset(&set, sample_signal);
  else
    sigdelset(&set, sample_signal);
}

using SetMask = int (*)(int, const sigset_t*, sigset_t*);

int set_mask(SetMask real, int how, const sigset_t* set, sigset_t* before) {
  if (shared_file.head == nullptr) return real(how, set, before);
  const bool has_ours = set != nullptr && sigismember(set, sample_signal) == 1;
  sigset_t copy;
  const int result = real(how, how == SIG_UNBLOCK ? set : without_ours(set, copy), before);
  if (result != 0) return result;
  if (before != nullptr) show(*before, self.is_meant_blocked);
  if (set != nullptr && how == SIG_SETMASK) self.is_meant_blocked = has_ours;
  if (has_ours && how != SIG_SETMASK) self.is_meant_blocked = how == SIG_BLOCK;
  return result;
}

}  // namespace

STAB_EXPORT int sigaction(int signal, const struct sigaction* action, struct sigaction* before) {
  if (is_ours(signal)) {
    const struct sigaction last = wanted_action;
    if (action != nullptr) wanted_action = *action;
    if (before != nullptr) *before = last;
    return 0;
  }
  if (shared_file.head == nullptr) return STAB_REAL(sigaction)(signal, action, before);
  struct sigaction copy;
  if (action != nullptr) {
    copy = *action;
    // The alternate stacks of many programs have no room for a sample on top of a handler.
    show(copy.sa_mask, (copy.sa_flags & SA_ONSTACK) != 0);
    action = &copy;
  }
  const int result = STAB_REAL(sigaction)(signal, action, before);
  if (result == 0 && before != nullptr) show(before->sa_mask, false);
  return result;
}

STAB_EXPORT int sigaltstack(const stack_t* stack, stack_t* before) {
  if (shared_file.head != nullptr && stack != nullptr && (stack->ss_flags & SS_DISABLE) == 0 &&
      stack->ss_size < getauxval(AT_MINSIGSTKSZ) + most_sample_stack)
    leave_alternate_stacks();
  return STAB_REAL(sigaltstack)(stack, before);
}

// No header declares it any more. A C program compiled with -std=c99 calls __sysv_signal as
// `signal`.
extern "C" sighandler_t bsd_signal(int number, sighandler_t handler);

#define STAB_SETS_HANDLER(name)                                                \
  STAB_EXPORT sighandler_t name(int number, sighandler_t handler) {            \
    return is_ours(number) ? want(handler) : STAB_REAL(name)(number, handler); \
  }

STAB_SETS_HANDLER(signal)
STAB_SETS_HANDLER(__sysv_signal)
STAB_SETS_HANDLER(sysv_signal)
STAB_SETS_HANDLER(bsd_signal)
STAB_SETS_HANDLER(ssignal)

// sigset() blocks or unblocks the signal as well.
STAB_EXPORT sighandler_t sigset(int number, sighandler_t handler) {
  if (!is_ours(number)) return STAB_REAL(sigset)(number, handler);
  const bool was_blocked = self.is_meant_blocked;
  self.is_meant_blocked = handler == SIG_HOLD;
  const sighandler_t last = handler == SIG_HOLD ? wanted_action.sa_handler : want(handler);
  return was_blocked ? SIG_HOLD : last;
}

STAB_EXPORT int sigignore(int number) {
  if (!is_ours(number)) return STAB_REAL(sigignore)(number);
  want(SIG_IGN);
  return 0;
}

STAB_EXPORT int sigprocmask(int how, const sigset_t* set, sigset_t* before) {
  return set_mask(STAB_REAL(sigprocmask), how, set, before);
}

STAB_EXPORT int pthread_sigmask(int how, const sigset_t* set, sigset_t* before) {
  return set_mask(STAB_REAL(pthread_sigmask), how, set, before);
}

STAB_EXPORT int signalfd(int fd, const sigset_t* set, int flags) {
  sigset_t copy;
  return STAB_REAL(signalfd)(fd, without_ours(set, copy), flags);
}

// Most signals that a thread waits for come from another thread, which has paid before.
STAB_EXPORT int sigwait(const sigset_t* set, int* number) {
  sigset_t copy;
  Wait waits;
  const int result = STAB_REAL(sigwait)(without_ours(set, copy), number);
  waits.end(result == 0);
  return result;
}

STAB_EXPORT int sigwaitinfo(const sigset_t* set, siginfo_t* info) {
  sigset_t copy;
  Wait waits;
  const int result = STAB_REAL(sigwaitinfo)(without_ours(set, copy), info);
  waits.end(result > 0);
  return result;
}

STAB_EXPORT int sigtimedwait(const sigset_t* set, siginfo_t* info, const timespec* time) {
  sigset_t copy;
  Wait waits;
  const int result = STAB_REAL(sigtimedwait)(without_ours(set, copy), info, time);
  waits.end(result > 0);
  return result;
}
