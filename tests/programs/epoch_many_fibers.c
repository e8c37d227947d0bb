// SPDX-License-Identifier: MIT
// Two thousand contexts, resumed in random order while functions move, each with frames of its own; half of the stacks
// were given back and taken anew on the way.
// variants: -O0 | -O2
#include "hazard.h"
#include <sys/mman.h>
#include <ucontext.h>

enum { FIBERS = 2000, STACK = 16384 };
struct Fiber {
  ucontext_t own;
  char *stack;
  long turns, asked;
  int stop, started;
};
static struct Fiber fibers[FIBERS];
static ucontext_t here;

NOINLINE static int wait_below(struct Fiber *fiber, int depth) {
  volatile int mark = depth;
  if (depth == 0) {
    work(40);
    CHECK(swapcontext(&fiber->own, &here) == 0);
    return 0;
  }
  int below = wait_below(fiber, depth - 1);
  CHECK(mark == depth);
  return below + 1;
}
static void live(int number) {
  struct Fiber *fiber = &fibers[number];
  const int depth = number % 9;
  while (!fiber->stop) {
    CHECK(wait_below(fiber, depth) == depth);
    fiber->turns += 1;
  }
}
static void start(int number) {
  struct Fiber *fiber = &fibers[number];
  memset(fiber, 0, sizeof *fiber);
  fiber->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(fiber->stack != MAP_FAILED);
  CHECK(getcontext(&fiber->own) == 0);
  fiber->own.uc_stack.ss_sp = fiber->stack;
  fiber->own.uc_stack.ss_size = STACK;
  fiber->own.uc_link = &here;
  makecontext(&fiber->own, (void (*)(void))live, 1, number);
}
static void resume(int number) {
  fibers[number].asked += 1;
  CHECK(swapcontext(&here, &fibers[number].own) == 0);
}
static void finish(int number) {
  fibers[number].stop = 1;
  resume(number);
  if (fibers[number].asked == 1) CHECK(fibers[number].turns == 0);
  else CHECK(fibers[number].turns == fibers[number].asked - 1);
  munmap(fibers[number].stack, STACK);
}

int main(void) {
  uint32_t state = 3;
  for (int i = 0; i < FIBERS; ++i) start(i);
  for (double end = section(1); before(end);) {
    for (int i = 0; i < 200; ++i) resume((int)(draw(&state) % FIBERS));
    for (int i = 0; i < 3; ++i) {
      int number = (int)(draw(&state) % FIBERS);
      finish(number);
      start(number);
    }
  }
  for (int i = 0; i < FIBERS; ++i) finish(i);
  puts("2000 fibers ended");
  return 0;
}
