// SPDX-License-Identifier: MIT
// Makes a context, so that all layouts are kept, in a program of 8 MB: they stay within a bound of bytes.
// variants: -O2
#include "hazard.h"
#include <ucontext.h>

// Functions of a megabyte each, of instructions that do nothing.
#define LARGE(n)                                                                                         \
  __asm__(".text; .globl large" #n "; .type large" #n ", @function; large" #n ": .cfi_startproc\n"       \
          ".fill 131072, 8, 0x00841f0f; lea 1(%rdi), %rax; ret; .cfi_endproc; .size large" #n ", .-large" #n); \
  long large##n(long);
#define EIGHT(n) LARGE(n##0) LARGE(n##1) LARGE(n##2) LARGE(n##3) LARGE(n##4) LARGE(n##5) LARGE(n##6) LARGE(n##7)
EIGHT(1)

static ucontext_t here, there;
static long turns;
static char stack[65536];

static void take_turns(void) {
  for (;;) {
    work_once();
    turns = large10(turns);
    CHECK(swapcontext(&there, &here) == 0);
  }
}

int main(void) {
  CHECK(getcontext(&there) == 0);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = sizeof stack;
  makecontext(&there, take_turns, 0);
  long expected = 0;
  for (const double end = section(1); before(end);) {
    CHECK(swapcontext(&here, &there) == 0);
    CHECK(turns == ++expected);
  }
  CHECK(large17(1) == 2);
  puts("every turn was taken");
  return 0;
}
