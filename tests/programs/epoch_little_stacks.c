// SPDX-License-Identifier: MIT
// Fibers with stacks of 16 KB, changed to by hand, that hold what plain frames need twice over, but not twenty large pads; the
// frames of a library lie on them too.
// library: epoch_little_stacks_library.c
// variants: -O0 | -O2
#include "hazard.h"
#include <sys/mman.h>

void swap_stacks(void **save, void **load);
__asm__(".text\n.p2align 4\n.globl swap_stacks\n.type swap_stacks, @function\nswap_stacks:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n  movq (%rsi), %rax\n  movq %rax, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n  ret\n"
        ".size swap_stacks, . - swap_stacks\n");

long far_down(int depth, long (*bottom)(long), long value);

enum { STACK = 16384, PAGE = 4096, DEPTH = 12 };
static void *here, *there;

NOINLINE static long wait_here(long value) {
  swap_stacks(&there, &here);
  return value + 1;
}
NOINLINE static long down(int depth, long value) {
  volatile char mark[64] = {(char)depth};
  const long below = depth == 0 ? far_down(DEPTH, wait_here, value) : down(depth - 1, value + 1);
  CHECK(mark[0] == (char)depth);
  return below + 1;
}
// One call each: recursions have small pads anyway.
#define STEP(n, next) NOINLINE static long step##n(long value) { volatile char mark[64] = {n}; const long below = next; CHECK(mark[0] == n); return below + 1; }
STEP(1, down(3, value))
STEP(2, step1(value))
STEP(3, step2(value))
STEP(4, step3(value))
STEP(5, step4(value))
STEP(6, step5(value))
STEP(7, step6(value))
STEP(8, step7(value))
static void live(void) {
  for (;;) CHECK(step8(5) == 32);
}

int main(void) {
  char *memory = mmap(NULL, STACK + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED && mprotect(memory, PAGE, PROT_NONE) == 0);
  void **top = (void **)(memory + PAGE + STACK);
  *--top = NULL;
  *--top = (void *)(uintptr_t)live;
  for (int i = 0; i < 6; ++i) *--top = NULL;
  there = top;
  for (double end = section(1); before(end);) {
    swap_stacks(&here, &there);
    work(20);
  }
  puts("16 KB were enough");
  return 0;
}
