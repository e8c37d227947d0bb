// SPDX-License-Identifier: MIT
// Stacks that only the code knows which switches to them: in assembly without size or type, and around a call.
// variants: -O0 | -O2
#include "hazard.h"

__asm__(".text\n"
        ".globl switch_to\n"
        "switch_to:\n" // (save here, go there)
        "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\n"
        "mov (%rsi), %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\n"
        "ret\n");
void switch_to(void **save, void **there);

static char stack[65536] __attribute__((aligned(16)));
static void *outside, *inside;
static volatile uint32_t result;

NOINLINE static void fiber(void) {
  for (;;) {
    result = work(50);
    switch_to(&inside, &outside);
  }
}

static char call_stack[65536] __attribute__((aligned(16)));
NOINLINE static void on_other_stack(void (*function)(void)) {
  __asm__ volatile("mov %%rsp, %%rbx\n\tmov %0, %%rsp\n\tcall *%1\n\tmov %%rbx, %%rsp"
                   :
                   : "r"(call_stack + sizeof call_stack), "r"(function)
                   : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
}
NOINLINE static void long_work(void) { work_ms(2); }

int main(void) {
  const uint32_t expected = work(50);
  void **top = (void **)(stack + sizeof stack) - 1;
  *--top = (void *)fiber;
  inside = top - 6;
  for (double end = section(1); before(end);) {
    result = 0;
    switch_to(&outside, &inside);
    CHECK(result == expected);
    on_other_stack(long_work);
  }
  puts("came back from every stack");
  return 0;
}
