// SPDX-License-Identifier: MIT
// A hundred thousand frames, several times, with work at the bottom, on the way down and on the way up, while functions move:
// of one function, of two by turns, in a thread with a large stack, and left by longjmp.
// link: -pthread
// variants: -O0 | -O2 -fno-optimize-sibling-calls
#include "hazard.h"
#include <setjmp.h>
#include <sys/resource.h>

enum { DEPTH = 100000 };
static double bottom_ms;

NOINLINE static uint32_t one(uint32_t n) {
  if (n == 0) {
    work_ms(bottom_ms);
    return 0;
  }
  if (n % 20000 == 0) work_ms(1.1);
  uint32_t below = one(n - 1);
  if (n % 20000 == 0) work_ms(1.1);
  return below + (n & 3);
}
static uint32_t odd(uint32_t n);
NOINLINE static uint32_t even(uint32_t n) {
  if (n == 0) {
    work_ms(bottom_ms);
    return 0;
  }
  return odd(n - 1) + 1;
}
NOINLINE static uint32_t odd(uint32_t n) { return even(n - 1) + 2; }

static jmp_buf top;
NOINLINE static uint32_t down_and_out(uint32_t n) {
  if (n == 0) {
    work_ms(bottom_ms);
    longjmp(top, 1);
  }
  return down_and_out(n - 1) + 1;
}

static void all(double end) {
  do {
    CHECK(one(DEPTH) == DEPTH / 4 * 6);
    CHECK(even(DEPTH) == DEPTH / 2 * 3);
    if (setjmp(top) == 0) down_and_out(DEPTH);
  } while (before(end));
}
static void *in_thread(void *unused) {
  all(section(0.3));
  return unused;
}

int main(void) {
  struct rlimit limit;
  CHECK(getrlimit(RLIMIT_STACK, &limit) == 0);
  bottom_ms = whole_ms() / 20;
  // The main thread where its stack is large enough: 8 MB is the usual limit.
  if (limit.rlim_cur >= (8u << 20)) all(section(0.6));
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  CHECK(pthread_attr_setstacksize(&attributes, 64u << 20) == 0);
  CHECK(pthread_create(&thread, &attributes, in_thread, NULL) == 0);
  join_thread(thread);
  puts("every frame returned");
  return 0;
}
