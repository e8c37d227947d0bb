// SPDX-License-Identifier: MIT
// A hundred thousand frames in main, in threads of default size and in one that C11's threads make, by direct calls and by
// pointers to functions, while functions move.
// link: -pthread
// variants: -O0 | -O1 -fno-optimize-sibling-calls | -O2 -fno-optimize-sibling-calls
#include "hazard.h"
#include <threads.h>

enum { DEPTH = 100000 };

NOINLINE static uint32_t direct(uint32_t n) {
  if (n % 25000 == 0) work_ms(0.5);
  return n == 0 ? 0 : direct(n - 1) + (n & 3);
}

typedef uint32_t step(uint32_t);
static step first, second;
static step *volatile steps[] = {first, second};
NOINLINE static uint32_t first(uint32_t n) {
  if (n % 25000 == 0) work_ms(0.5);
  return n == 0 ? 0 : steps[n & 1](n - 1) + (n & 3);
}
NOINLINE static uint32_t second(uint32_t n) { return n == 0 ? 0 : steps[n >> 1 & 1](n - 1) + (n & 3); }

static void all(double part) {
  const double end = section(part);
  do {
    CHECK(direct(DEPTH) == DEPTH / 4 * 6);
    CHECK(steps[0](DEPTH) == DEPTH / 4 * 6);
  } while (before(end));
}
static void *in_thread(void *argument) {
  all(0.3);
  return argument;
}
static int in_plain_thread(void *argument) {
  all(0.3);
  return *(int *)argument - 8;
}

int main(void) {
  all(0.3);
  int seven = 7, result = 0;
  CHECK(join_thread(start_thread(in_thread, &seven)) == &seven);
  thrd_t thread;
  CHECK(thrd_create(&thread, in_plain_thread, &seven) == thrd_success && thrd_join(thread, &result) == thrd_success);
  printf("every frame returned, and so did the thread: %d\n", result);
  return 0;
}
