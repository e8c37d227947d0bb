// SPDX-License-Identifier: MIT
// The setjmp family while functions move: in hot loops, kept for long, nested, deep, copied, out of handlers, in threads.
// link: -pthread
// variants: -O0 | -O2 | -Os | -O2 -D_FORTIFY_SOURCE=2
#include "hazard.h"
#include <setjmp.h>
#include <signal.h>

struct Landing {
  jmp_buf at;
  volatile long jumps;
};

NOINLINE static void leap(struct Landing *landing, int depth, int value) {
  volatile char room[48];
  room[0] = (char)depth;
  if (depth == 0) longjmp(landing->at, value);
  leap(landing, depth - 1, value);
  CHECK(room[0] != (char)depth && "a jump does not return");
}

// Values in callee-saved registers and on the stack outlive the jump.
NOINLINE static void hot_loop(struct Landing *landing, double part) {
  const long a = work(3), b = work(4), c = work(5), d = work(6);
  for (double end = section(part); before(end);) {
    for (volatile int i = 0; i < 50; ++i) {
      int value = setjmp(landing->at);
      if (value == 0) leap(landing, i, i + 1);
      CHECK(value == i + 1);
    }
    CHECK(a == work(3) && b == work(4) && c == work(5) && d == work(6));
  }
}

// One setjmp that is jumped to through many epochs.
NOINLINE static void kept_for_long(struct Landing *landing, double part) {
  const double end = section(part);
  landing->jumps = 0;
  int value = setjmp(landing->at);
  CHECK(value == (landing->jumps ? 17 : 0));
  landing->jumps += 1;
  work_once();
  if (before(end)) leap(landing, (int)(landing->jumps % 40), 17);
}

// Frames that wait in work while the buffer ages, then are jumped over.
NOINLINE static void aged(struct Landing *landing, double part) {
  for (double end = section(part); before(end);) {
    volatile int here = 0;
    if (setjmp(landing->at) == 0) {
      work_ms(3);
      here = 1;
      leap(landing, 1000, 1);
    }
    CHECK(here == 1);
  }
}

static __thread jmp_buf levels[30];
NOINLINE static long nested(int level, uint32_t *state, volatile long *jumps, double end) {
  volatile int mark = level * 3;
  int value = setjmp(levels[level]);
  CHECK(mark == level * 3);
  if (value != 0) {
    CHECK(value == level + 1);
    *jumps += 1;
  }
  work_once();
  if (level == 29) {
    if (!before(end)) return level;
    int to = (int)(draw(state) % 30);
    longjmp(levels[to], to + 1);
  }
  long below = nested(level + 1, state, jumps, end);
  CHECK(mark == level * 3);
  return below;
}

static sigjmp_buf from_handler;
static void on_usr1(int number) {
  CHECK(number == SIGUSR1);
  work(20);
  siglongjmp(from_handler, 5);
}
NOINLINE static void out_of_handlers(double part) {
  struct sigaction action = {.sa_handler = on_usr1};
  sigaction(SIGUSR1, &action, NULL);
  for (double end = section(part); before(end);) {
    int value = sigsetjmp(from_handler, 1);
    if (value == 0) {
      work_once();
      raise(SIGUSR1);
    }
    CHECK(value == 5);
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    CHECK(!sigismember(&now, SIGUSR1));
  }
}

NOINLINE static void copied(double part) {
  jmp_buf *copy = malloc(sizeof *copy);
  for (double end = section(part); before(end);) {
    jmp_buf first;
    if (_setjmp(first) == 0) {
      memcpy(copy, &first, sizeof first);
      memset(&first, 0, sizeof first);
      work_ms(1.5);
      longjmp(*copy, 9);
    }
  }
  free(copy);
}

static void *built_in[5];
NOINLINE static void built_in_leap(int depth) {
  if (depth == 0) __builtin_longjmp(built_in, 1);
  built_in_leap(depth - 1);
  work_once();
}
NOINLINE static void of_the_compiler(double part) {
  for (double end = section(part); before(end);) {
    if (__builtin_setjmp(built_in) == 0) {
      work_ms(1.5);
      built_in_leap(10);
      CHECK(!"a jump does not return");
    }
  }
}

static void *in_thread(void *unused) {
  struct Landing *landing = malloc(sizeof *landing);
  uint32_t state = 5;
  volatile long jumps = 0;
  hot_loop(landing, 0.06);
  kept_for_long(landing, 0.06);
  CHECK(nested(0, &state, &jumps, section(0.06)) == 29);
  free(landing);
  return unused;
}

int main(void) {
  struct Landing landing;
  uint32_t state = 1;
  volatile long jumps = 0;
  hot_loop(&landing, 0.12);
  kept_for_long(&landing, 0.12);
  aged(&landing, 0.12);
  CHECK(nested(0, &state, &jumps, section(0.12)) == 29);
  CHECK(jumps > 0);
  out_of_handlers(0.12);
  copied(0.12);
  of_the_compiler(0.1);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) threads[i] = start_thread(in_thread, NULL);
  for (int i = 0; i < 3; ++i) join_thread(threads[i]);
  puts("every jump landed");
  return 0;
}
