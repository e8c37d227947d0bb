// SPDX-License-Identifier: MIT
// setjmp and longjmp, contexts of one's own, alloca, and deep recursion.
// variants: -O0 | -O2
#include <alloca.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

static jmp_buf target;
__attribute__((noinline)) static void leap(int n) {
  if (n == 0) longjmp(target, 17);
  leap(n - 1);
}
static ucontext_t main_context, other_context;
static char stack[65536];
static int steps;
static void other(int a, int b) {
  for (int i = 0; i < 5; ++i) {
    steps += a * b + i;
    swapcontext(&other_context, &main_context);
  }
}
__attribute__((noinline)) static int recurse(int n) { return n == 0 ? 0 : 1 + recurse(n - 1) * 1; }
__attribute__((noinline)) static int sized(int n) {
  char *p = alloca((size_t)n);
  memset(p, n & 127, (size_t)n);
  return p[n / 2];
}
int main(void) {
  volatile int tries = 0;
  int r = setjmp(target);
  if (++tries < 4) leap(tries * 10);
  getcontext(&other_context);
  other_context.uc_stack.ss_sp = stack;
  other_context.uc_stack.ss_size = sizeof stack;
  other_context.uc_link = &main_context;
  makecontext(&other_context, (void (*)(void))other, 2, 3, 4);
  for (int i = 0; i < 6; ++i) swapcontext(&main_context, &other_context);
  printf("%d %d %d %d %d\n", r, tries, steps, recurse(20000), sized(1000));
  return 0;
}
