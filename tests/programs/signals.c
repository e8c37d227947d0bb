// SPDX-License-Identifier: MIT
// The program's own handlers, on the usual and on another stack, and a jump out of one.
// variants: -O0 | -O2
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sigjmp_buf back;
static volatile sig_atomic_t alarms, faults;
static void on_usr1(int number) { alarms += number == SIGUSR1; }
static void on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  faults += info->si_addr == (void *)16 && number == SIGSEGV;
  siglongjmp(back, 1);
}
__attribute__((noinline)) static int read_from(volatile int *p) { return *p; }
int main(void) {
  static char stack[65536];
  stack_t other = {.ss_sp = stack, .ss_size = sizeof stack, .ss_flags = 0};
  sigaltstack(&other, NULL);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_usr1;
  sigaction(SIGUSR1, &action, NULL);
  action.sa_handler = NULL;
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, NULL);
  for (int i = 0; i < 100; ++i) raise(SIGUSR1);
  for (volatile int i = 0; i < 10; ++i)
    if (sigsetjmp(back, 1) == 0) read_from((volatile int *)16);
  printf("%d %d\n", (int)alarms, (int)faults);
  return 0;
}
