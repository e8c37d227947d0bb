// SPDX-License-Identifier: MIT
// Handlers on another stack while functions move: long ones, nested ones, left by siglongjmp, after a stack overflow, in threads;
// and the program sees no other stack than the one it set.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { STACK = 65536 };
static __thread char *own_stack;
static __thread volatile int handled, nested;
static __thread sigjmp_buf back;

static int on_own_stack(void) {
  char here;
  return &here > own_stack && &here < own_stack + STACK;
}
static void on_usr1(int number) {
  CHECK(number == SIGUSR1 && on_own_stack());
  stack_t now;
  CHECK(sigaltstack(NULL, &now) == 0 && now.ss_flags == SS_ONSTACK && now.ss_sp == own_stack && now.ss_size == STACK);
  work_ms(2.5);
  raise(SIGUSR2);
  handled += 1;
}
static void on_usr2(int number) {
  CHECK(number == SIGUSR2 && on_own_stack());
  work_ms(1.5);
  nested += 1;
}
static void on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  CHECK(number == SIGSEGV && info->si_addr != NULL && on_own_stack());
  work_once();
  siglongjmp(back, 3);
}
static void handle(int number, void (*simple)(int), void (*full)(int, siginfo_t *, void *)) {
  struct sigaction action = {.sa_flags = SA_ONSTACK};
  if (simple) action.sa_handler = simple;
  if (full) action.sa_sigaction = full, action.sa_flags |= SA_SIGINFO;
  CHECK(sigaction(number, &action, NULL) == 0);
}

NOINLINE static void take_stack(void) {
  stack_t old, set = {.ss_size = STACK};
  CHECK(sigaltstack(NULL, &old) == 0 && old.ss_flags == SS_DISABLE);
  own_stack = set.ss_sp = malloc(STACK);
  CHECK(sigaltstack(&set, NULL) == 0);
}
NOINLINE static void give_stack(void) {
  stack_t old, none = {.ss_flags = SS_DISABLE};
  CHECK(sigaltstack(&none, &old) == 0 && old.ss_sp == own_stack && old.ss_flags == 0);
  free(own_stack);
}

NOINLINE static void raise_below(int depth) {
  volatile int mark = depth;
  if (depth == 0) raise(SIGUSR1);
  else raise_below(depth - 1);
  CHECK(mark == depth);
}
static void long_handlers(double part) {
  int count = 0;
  for (double end = section(part); before(end); ++count) raise_below(count % 50);
  CHECK(handled == count && nested == count);
}
static void faults(double part) {
  for (double end = section(part); before(end);) {
    int value = sigsetjmp(back, 1);
    if (value == 0) {
      work_once();
      *(volatile int *)(uintptr_t)24 = 1;
    }
    CHECK(value == 3);
  }
}
static void *in_thread(void *part) {
  handled = nested = 0;
  take_stack();
  long_handlers(*(double *)part);
  faults(*(double *)part);
  give_stack();
  return NULL;
}

// A thread overflows its stack again and again, and recovers.
NOINLINE static long endless(long n) {
  volatile char room[200];
  room[n % 200] = (char)n;
  return endless(n + 1) + room[n % 200];
}
static void *overflow(void *part) {
  take_stack();
  for (double end = section(*(double *)part); before(end);) {
    int value = sigsetjmp(back, 1);
    if (value == 0) endless(0);
    CHECK(value == 3);
    work_once();
  }
  give_stack();
  return NULL;
}

// SS_AUTODISARM: the handler may change stacks itself.
static void on_disarmed(int number) {
  CHECK(number == SIGUSR1);
  stack_t now;
  CHECK(sigaltstack(NULL, &now) == 0 && now.ss_flags == SS_DISABLE);
  work_ms(1.5);
  handled += 1;
}
static void disarmed(double part) {
  stack_t set = {.ss_size = STACK, .ss_flags = (int)(1u << 31)}, now;
  set.ss_sp = own_stack = malloc(STACK);
  CHECK(sigaltstack(&set, NULL) == 0);
  handle(SIGUSR1, on_disarmed, NULL);
  handled = 0;
  int count = 0;
  for (double end = section(part); before(end); ++count) raise(SIGUSR1);
  CHECK(handled == count);
  CHECK(sigaltstack(NULL, &now) == 0 && now.ss_sp == own_stack);
  set.ss_flags = SS_DISABLE;
  CHECK(sigaltstack(&set, NULL) == 0);
  free(own_stack);
}

int main(void) {
  handle(SIGUSR1, on_usr1, NULL);
  handle(SIGUSR2, on_usr2, NULL);
  handle(SIGSEGV, NULL, on_fault);
  double parts[] = {0.2, 0.1, 0.1};
  in_thread(&parts[0]);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) threads[i] = start_thread(in_thread, &parts[1]);
  for (int i = 0; i < 2; ++i) join_thread(threads[i]);
  join_thread(start_thread(overflow, &parts[2]));
  disarmed(0.15);
  puts("every handler ran on its stack");
  return 0;
}
