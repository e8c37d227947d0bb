// SPDX-License-Identifier: MIT
// Fibers whose switch sets the stack pointer in unusual ways: by another register, by way of one, as an address, by adding a
// distance, by the frame pointer, and by subtracting.
// variants: -O0 -DHOW=1 | -O2 -DHOW=1 | -O2 -DHOW=2 | -O2 -DHOW=3 | -O2 -DHOW=4 | -O2 -DHOW=5 | -O2 -DHOW=6
#include "hazard.h"

// void swap_stacks(void **save, void **load)
void swap_stacks(void **save, void **load);
#define SAVE "  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n  pushq %rbp\n"
#define LOAD "  popq %rbp\n  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  ret\n"
#define LOAD_WITHOUT_RBP "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  ret\n"
__asm__(".text\n.p2align 4\n.globl swap_stacks\n.type swap_stacks, @function\nswap_stacks:\n" SAVE
#if HOW == 1
        "  movq %rsi, %rbx\n  movq %rsp, (%rdi)\n  movq (%rbx), %rsp\n" LOAD
#elif HOW == 2
        "  movq %rsp, %rax\n  movq %rax, (%rdi)\n  movq (%rsi), %rax\n  movq %rax, %rsp\n" LOAD
#elif HOW == 3
        "  movq %rsp, (%rdi)\n  movq (%rsi), %rcx\n  leaq (%rcx), %rsp\n" LOAD
#elif HOW == 4
        "  movq %rsp, (%rdi)\n  movq (%rsi), %rcx\n  subq %rsp, %rcx\n  addq %rcx, %rsp\n" LOAD
#elif HOW == 5
        "  movq %rsp, (%rdi)\n  movq (%rsi), %rbp\n  leave\n" LOAD_WITHOUT_RBP
#else
        "  movq %rsp, (%rdi)\n  movq %rsp, %rcx\n  subq (%rsi), %rcx\n  subq %rcx, %rsp\n" LOAD
#endif
        ".size swap_stacks, . - swap_stacks\n");

enum { FIBERS = 16, STACK = 65536 };
static struct Fiber {
  void *sp;
  long turns;
} fibers[FIBERS];
static void *here;
static int running;

NOINLINE static void wait_below(int depth, int number) {
  volatile int mark = depth;
  CHECK(work(300 + number) == work(300 + number));
  if (depth == 0) swap_stacks(&fibers[number].sp, &here);
  else wait_below(depth - 1, number);
  CHECK(mark == depth);
}
static void live(void) {
  const int number = running;
  for (;;) {
    wait_below(number % 5, number);
    fibers[number].turns += 1;
  }
}
static void prepare(int number) {
  char *stack = aligned_alloc(64, STACK);
  CHECK(stack != NULL);
  void **top = (void **)(stack + STACK);
  *--top = NULL;
  *--top = (void *)(uintptr_t)live;
  for (int i = 0; i < 6; ++i) *--top = NULL;
  fibers[number].sp = top;
}

int main(void) {
  long asked[FIBERS] = {0};
  for (int i = 0; i < FIBERS; ++i) prepare(i);
  uint32_t state = 5;
  for (double end = section(1); before(end);) {
    running = (int)(draw(&state) % FIBERS);
    asked[running] += 1;
    swap_stacks(&here, &fibers[running].sp);
    work_once();
  }
  for (int i = 0; i < FIBERS; ++i) CHECK(asked[i] == 0 || fibers[i].turns == asked[i] - 1);
  puts("every fiber was where it had been");
  return 0;
}
