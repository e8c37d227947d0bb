// SPDX-License-Identifier: MIT
#include <ucontext.h>

static ucontext_t kept;
int keep_context(void) { return getcontext(&kept); }

static struct {
  int (*callback)(void *);
  void *argument;
  int result;
  ucontext_t back, there;
  char stack[65536] __attribute__((aligned(16)));
} other;

static void call_back(void) { other.result = other.callback(other.argument); }

int on_other_stack(int (*callback)(void *), void *argument) {
  other.callback = callback;
  other.argument = argument;
  if (getcontext(&other.there) != 0) return -1;
  other.there.uc_stack.ss_sp = other.stack;
  other.there.uc_stack.ss_size = sizeof other.stack;
  other.there.uc_link = &other.back;
  makecontext(&other.there, call_back, 0);
  if (swapcontext(&other.back, &other.there) != 0) return -1;
  return other.result;
}
