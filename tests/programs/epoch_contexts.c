// SPDX-License-Identifier: MIT
// makecontext, swapcontext, setcontext while functions move: in turns, chained, parked for long, passed between threads.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <signal.h>
#include <ucontext.h>

enum { STACK = 65536 };
struct Fiber {
  ucontext_t own, *back;
  char *stack;
  long turns;
  int depth, stop;
};

static void prepare(struct Fiber *fiber, ucontext_t *link, void (*run)(void), int a, int b) {
  CHECK(getcontext(&fiber->own) == 0);
  if (!fiber->stack) fiber->stack = malloc(STACK);
  fiber->own.uc_stack.ss_sp = fiber->stack;
  fiber->own.uc_stack.ss_size = STACK;
  fiber->own.uc_link = link;
  makecontext(&fiber->own, run, 2, a, b);
}
static struct Fiber *from_halves(int a, int b) { return (struct Fiber *)((uintptr_t)(unsigned)a << 32 | (unsigned)b); }
static int high(void *p) { return (int)((uintptr_t)p >> 32); }
static int low(void *p) { return (int)(uintptr_t)p; }

// Yields below some frames of its own.
NOINLINE static long yield_at(struct Fiber *fiber, int depth) {
  volatile long mark = depth * 7;
  if (depth > 0) {
    long below = yield_at(fiber, depth - 1);
    CHECK(mark == depth * 7);
    return below + 1;
  }
  work_once();
  CHECK(swapcontext(&fiber->own, fiber->back) == 0);
  return 0;
}
static void run_turns(int a, int b) {
  struct Fiber *fiber = from_halves(a, b);
  while (!fiber->stop) {
    CHECK(yield_at(fiber, fiber->depth) == fiber->depth);
    fiber->turns += 1;
  }
}

static void in_turns(double part) {
  struct Fiber fibers[4] = {0};
  ucontext_t here;
  for (int i = 0; i < 4; ++i) {
    fibers[i].back = &here;
    fibers[i].depth = i * 12;
    prepare(&fibers[i], &here, (void (*)(void))run_turns, high(&fibers[i]), low(&fibers[i]));
  }
  long turns = 0;
  for (double end = section(part); before(end); ++turns)
    for (int i = 0; i < 4; ++i) CHECK(swapcontext(&here, &fibers[i].own) == 0);
  for (int i = 0; i < 4; ++i) {
    fibers[i].stop = 1;
    CHECK(swapcontext(&here, &fibers[i].own) == 0);
    CHECK(fibers[i].turns == turns);
    free(fibers[i].stack);
  }
}

// Each context ends into the next one by uc_link.
static int order[8], ended;
static void run_once(int index, int rounds) {
  work(rounds);
  order[ended++] = index;
}
static void chained(double part) {
  struct Fiber fibers[8] = {0};
  ucontext_t here;
  for (double end = section(part); before(end);) {
    ended = 0;
    for (int i = 7; i >= 0; --i) prepare(&fibers[i], i == 7 ? &here : &fibers[i + 1].own, (void (*)(void))run_once, i, 300);
    CHECK(swapcontext(&here, &fibers[0].own) == 0);
    CHECK(ended == 8);
    for (int i = 0; i < 8; ++i) CHECK(order[i] == i);
  }
  for (int i = 0; i < 8; ++i) free(fibers[i].stack);
}

// One context that is returned to through many epochs, with the signal mask of its time.
static ucontext_t again;
NOINLINE static void set_again(int depth) {
  if (depth == 0) setcontext(&again);
  set_again(depth - 1);
  CHECK(!"setcontext does not return");
}
static void loop_by_context(double part) {
  const double end = section(part);
  volatile long rounds = 0;
  CHECK(getcontext(&again) == 0);
  sigset_t all, now;
  sigprocmask(SIG_BLOCK, NULL, &now);
  CHECK(!sigismember(&now, SIGUSR2));
  ++rounds;
  work_once();
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &now);
  if (before(end)) set_again((int)(rounds % 20));
  sigprocmask(SIG_SETMASK, &now, NULL);
}

// A context that waits deep in frames while everything else moves.
static void parked(double part) {
  struct Fiber fiber = {.depth = 200};
  ucontext_t here;
  fiber.back = &here;
  prepare(&fiber, &here, (void (*)(void))run_turns, high(&fiber), low(&fiber));
  CHECK(swapcontext(&here, &fiber.own) == 0);
  work_ms(part * whole_ms());
  fiber.stop = 1;
  CHECK(swapcontext(&here, &fiber.own) == 0);
  CHECK(fiber.turns == 1);
  free(fiber.stack);
}

// Threads take turns in the same contexts.
static struct Fiber shared[3];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static long passed[3];
static double passing_end;
static void *pass(void *unused) {
  ucontext_t here;
  uint32_t state = (uint32_t)(uintptr_t)&here;
  while (before(passing_end)) {
    int i = (int)(draw(&state) % 3);
    pthread_mutex_lock(&turn);
    shared[i].back = &here;
    CHECK(swapcontext(&here, &shared[i].own) == 0);
    passed[i] += 1;
    pthread_mutex_unlock(&turn);
    work_once();
  }
  return unused;
}
static void between_threads(double part) {
  ucontext_t here;
  for (int i = 0; i < 3; ++i) {
    shared[i].depth = 5 + i * 30;
    prepare(&shared[i], NULL, (void (*)(void))run_turns, high(&shared[i]), low(&shared[i]));
  }
  passing_end = section(part);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) threads[i] = start_thread(pass, NULL);
  for (int i = 0; i < 3; ++i) join_thread(threads[i]);
  for (int i = 0; i < 3; ++i) {
    shared[i].back = &here;
    CHECK(swapcontext(&here, &shared[i].own) == 0);
    CHECK(shared[i].turns == passed[i]);
    free(shared[i].stack);
  }
}

int main(void) {
  in_turns(0.2);
  chained(0.2);
  loop_by_context(0.2);
  parked(0.2);
  between_threads(0.2);
  puts("every context went on where it was");
  return 0;
}
