// SPDX-License-Identifier: MIT
// Threads with the smallest stack that libc allows, with 32 KB, and with 32 KB of the program's own memory, which end right
// behind what they are given; modest frames, a callback from libc and a handler on each of them, while functions move.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>

static __thread volatile int handled;
static void on_usr1(int number) {
  CHECK(number == SIGUSR1);
  handled += 1;
}

static int compare(const void *a, const void *b) {
  work_once();
  return *(const int *)a - *(const int *)b;
}
NOINLINE static int sorted(int n) {
  int numbers[16];
  for (int i = 0; i < 16; ++i) numbers[i] = (i * 7 + n) % 16;
  qsort(numbers, 16, sizeof *numbers, compare);
  for (int i = 0; i < 16; ++i) CHECK(numbers[i] == i);
  return numbers[n & 15];
}

// Eight functions, each with 128 bytes of its own.
#define LEVEL(name, below)                        \
  NOINLINE static int name(int n) {               \
    volatile char room[128];                      \
    room[n & 127] = (char)n;                      \
    const int result = below(n) + room[n & 127];  \
    CHECK(room[n & 127] == (char)n);              \
    return result;                                \
  }
LEVEL(level8, sorted)
LEVEL(level7, level8)
LEVEL(level6, level7)
LEVEL(level5, level6)
LEVEL(level4, level5)
LEVEL(level3, level4)
LEVEL(level2, level3)
LEVEL(level1, level2)

static void *run(void *part) {
  const double end = section(*(double *)part);
  do {
    for (int n = 0; n < 16; ++n) CHECK(level1(n) == 9 * n);
    handled = 0;
    CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0 && handled == 1);
  } while (before(end));
  return part;
}

static void run_with(pthread_attr_t *attributes, double part) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], attributes, run, &part) == 0);
  for (int i = 0; i < 3; ++i) CHECK(join_thread(threads[i]) == &part);
}
static void run_with_size(size_t size) {
  pthread_attr_t attributes;
  size_t kept;
  CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, size) == 0);
  run_with(&attributes, 0.3);
  CHECK(pthread_attr_getstacksize(&attributes, &kept) == 0 && kept == size);
  CHECK(pthread_attr_destroy(&attributes) == 0);
}

static void run_on_own_memory(void) {
  enum { STACK = 32768, FRAME = 3 * STACK };
  char *memory = mmap(NULL, FRAME, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED && mprotect(memory + STACK, STACK, PROT_READ | PROT_WRITE) == 0);
  pthread_attr_t attributes;
  pthread_t thread;
  double part = 0.3;
  CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, memory + STACK, STACK) == 0);
  CHECK(pthread_create(&thread, &attributes, run, &part) == 0 && join_thread(thread) == &part);
  CHECK(pthread_attr_destroy(&attributes) == 0 && munmap(memory, FRAME) == 0);
}

int main(void) {
  CHECK(signal(SIGUSR1, on_usr1) != SIG_ERR);
  run_with_size((size_t)sysconf(_SC_THREAD_STACK_MIN));
  run_with_size(32768);
  run_on_own_memory();
  puts("small stacks were large enough");
  return 0;
}
