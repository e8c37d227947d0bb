// SPDX-License-Identifier: MIT
// Fibers whose switch is hand-written: one in an assembly function of its own, one as inline assembly whose resume address
// lies on the stack left behind. Stacks come from malloc, from static memory and from a thread that made them.
// link: -pthread
// variants: -O0 | -O2 | -O2 -fno-pie -no-pie
#include "hazard.h"

// void swap_stacks(void **save, void *load): the callee-saved registers stay on the stack that is left.
__attribute__((visibility("hidden"))) void swap_stacks(void **save, void *load);
__asm__(".section .text.swap_stacks,\"ax\",@progbits\n"
        ".p2align 4\n.globl swap_stacks\n.hidden swap_stacks\n.type swap_stacks, @function\n"
        "swap_stacks:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n  ret\n"
        ".size swap_stacks, . - swap_stacks\n.text\n");

NOINLINE static void hop(void **save, void *load) {
  __asm__ volatile("subq $128, %%rsp\n  pushq %%rbp\n  pushq %%rbx\n"
                   "  leaq 1f(%%rip), %%rax\n  pushq %%rax\n"
                   "  movq %%rsp, (%0)\n  movq %1, %%rsp\n  ret\n"
                   "1: popq %%rbx\n  popq %%rbp\n  addq $128, %%rsp"
                   : "+D"(save), "+S"(load)
                   :
                   : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
}

typedef void Switch(void **, void *);
enum { FIBERS = 48, STACK = 32768 };
struct Fiber {
  void *sp;
  char *stack;
  Switch *change;
  long turns;
  int depth, number;
};
static char fixed_stacks[8][STACK] __attribute__((aligned(16)));
static __thread struct Fiber *running;
static __thread void *scheduler;
static __thread int closing;

NOINLINE static void leave(void) { running->change(&running->sp, scheduler); }
NOINLINE static long deep(int depth, uint32_t seed) {
  volatile uint32_t mark = seed * (uint32_t)depth;
  if (depth == 0) {
    work_once();
    leave();
    return 0;
  }
  long below = deep(depth - 1, seed);
  CHECK(mark == seed * (uint32_t)depth);
  return below + 1;
}
static void live(void) {
  for (uint32_t seed = 1; !closing; ++seed) {
    CHECK(deep(running->depth, seed) == running->depth);
    running->turns += 1;
  }
  leave();
  CHECK(!"a fiber that ended does not run");
}

static void prepare(struct Fiber *fiber, int number, Switch *change) {
  void **top;
  fiber->stack = number % 6 == 0 ? fixed_stacks[number / 6] : malloc(STACK);
  CHECK(fiber->stack != NULL);
  fiber->change = change;
  fiber->number = number;
  fiber->depth = number;
  fiber->turns = 0;
  top = (void **)(((uintptr_t)fiber->stack + STACK) & ~(uintptr_t)15);
  *--top = NULL;
  *--top = (void *)(uintptr_t)live;
  fiber->sp = change == hop ? top : top - 6;
}
static void resume(struct Fiber *fiber) {
  running = fiber;
  fiber->change(&scheduler, fiber->sp);
}

NOINLINE static void play(struct Fiber *fibers, int count, double end) {
  static const int seed = 7;
  uint32_t state = seed;
  long turns[FIBERS] = {0};
  while (before(end)) {
    int i = (int)(draw(&state) % (uint32_t)count);
    resume(&fibers[i]);
    turns[i] += 1;
  }
  closing = 1;
  for (int i = 0; i < count; ++i) {
    if (turns[i] > 0) {
      resume(&fibers[i]);
      CHECK(fibers[i].turns == turns[i]);
    }
    if (fibers[i].number % 6 != 0) free(fibers[i].stack);
  }
  closing = 0;
}

static Switch *in_thread_switch;
static void *in_thread(void *first) {
  struct Fiber *fibers = first;
  // Numbers from 1: the static stacks belong to the main thread.
  for (int i = 0; i < 10; ++i) prepare(&fibers[i], i % 5 + 1, in_thread_switch);
  play(fibers, 10, section(0.1));
  return NULL;
}

int main(void) {
  Switch *const switches[] = {swap_stacks, hop};
  static struct Fiber fibers[FIBERS];
  for (int kind = 0; kind < 2; ++kind) {
    for (int i = 0; i < FIBERS; ++i) prepare(&fibers[i], i, switches[kind]);
    play(fibers, FIBERS, section(0.3));
    in_thread_switch = switches[kind];
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) threads[i] = start_thread(in_thread, &fibers[i * 10]);
    for (int i = 0; i < 2; ++i) join_thread(threads[i]);
  }
  puts("every fiber kept its frames");
  return 0;
}
