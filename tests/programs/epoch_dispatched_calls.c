// SPDX-License-Identifier: MIT
// System calls that the program dispatches itself, as Wine does: outside of a range they go to a handler of its own.
// variants: -O0 | -O2 | -O2 -DBY_NUMBER
#include "hazard.h"
#include <signal.h>
#include <sys/prctl.h>
#include <ucontext.h>
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static volatile char trapping;
static void dispatch(int number, siginfo_t *about, void *context) {
  (void)number, (void)about;
  trapping = 0;
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = 4242;
}

int main(void) {
  work_ms(whole_ms() / 4);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = dispatch;
  action.sa_flags = SA_SIGINFO;
  CHECK(sigaction(SIGSYS, &action, NULL) == 0);
#ifdef BY_NUMBER
  const long set = syscall(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &trapping);
#else
  const long set = prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &trapping);
#endif
  // Before Linux 5.11 there is no such thing.
  const int there = set == 0;
  for (int i = 0; i < 20; ++i) {
    trapping = (char)there;
    for (int k = 0; k < 200; ++k) work_once();
    const long result = syscall(SYS_getppid);
    trapping = 0;
    CHECK(!there || result == 4242);
  }
  puts("the program's own answers");
  return 0;
}
