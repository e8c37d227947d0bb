// SPDX-License-Identifier: MIT
// Frames that stay hold what earlier calls left on the stack: return addresses of old layouts. They keep those and no others, so
// that epochs go on. For tests/szc/moving_test.sh.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

enum { depth = 60, milliseconds = 700 };

static uint64_t cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

__attribute__((noinline)) static uint64_t step(uint64_t x) {
  for (int i = 0; i < 200; ++i) x = x * 6364136223846793005u + 1442695040888963407u;
  return x;
}

__attribute__((noinline)) static uint64_t dig(int left, uint64_t x) {
  const uint64_t below = left == 0 ? step(x) : dig(left - 1, x + 1);
  return below ^ step(x);
}

// Its array is never written; the compiler cannot know.
__attribute__((noinline)) static uint64_t stay(uint64_t x, int write) {
  volatile uint64_t array[1024];
  if (write) array[x % 1024] = x;
  const uint64_t end = cpu_ms() + milliseconds;
  while (cpu_ms() < end) x = step(x);
  if (write) x += array[0];
  return x;
}

static void* work(void* unwritten) {
  uint64_t x = 1;
  for (const uint64_t end = cpu_ms() + 30; cpu_ms() < end;) x = dig(depth, x);
  x = stay(x, unwritten == 0);
  return x == 0 ? 0 : unwritten;
}

int main(int argc, char** argv) {
  pthread_t other;
  void* result = 0;
  const void* alone = work(argv);
  if (pthread_create(&other, 0, work, argv) != 0) return 1;
  const void* beside = work(argv);
  if (pthread_join(other, &result) != 0) return 1;
  printf("done %d\n", alone && beside && result && argc);
  return 0;
}
