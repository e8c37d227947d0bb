// SPDX-License-Identifier: MIT
// Locals that are reached from far away: what lies in a frame beside a pad must not be told by distances alone.
// variants: -O0 | -O0 -flto | -O2 -fno-omit-frame-pointer | -O0 -fstack-protector-all | -O0 -fomit-frame-pointer -Xclang -disable-O0-optnone | -O2 -flto -Wl,--lto-CGO0 | -O0 -g -fPIC
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))
#define AS_WRITTEN __attribute__((noinline, optnone))

NOINLINE static long id(long x) {
  __asm__ volatile("" : "+r"(x));
  return x;
}
NOINLINE static void shown(void *object) { __asm__ volatile("" : : "r"(object) : "memory"); }

// The index is folded into the operand, which then lies outside of the array, on either side.
AS_WRITTEN static int far_index(long n) {
  char large[4096];
  const long i = id(n);
  memset(large, 0, sizeof large);
  large[i + 5000] = 42;
  shown(large);
  return large[n + 5000];
}
NOINLINE static int low_index(long n) {
  int some[40];
  const long i = id(n);
  memset(some, 0, sizeof some);
  some[i - 300] = 7;
  shown(some);
  return some[n - 300];
}
// An address below the array, as a number, after something that the quick instruction selector leaves to the other.
NOINLINE static int below(__int128 *q, long n) {
  double some[20];
  memset(some, 0, sizeof some);
  const uintptr_t place = (uintptr_t)some - 500;
  *q = *q * 3 / (__int128)n;
  *(double *)(place + (uintptr_t)id(500) + 8) = 7;
  return (int)some[1];
}
// A small object that only an index reaches, beside its caller's.
NOINLINE static int small(void) {
  char few[8];
  few[id(3)] = 5;
  shown(few);
  return few[id(3)];
}
NOINLINE static int caller(void) {
  int many[100];
  for (int i = 0; i < 100; ++i) many[i] = 4;
  shown(many);
  const int five = small();
  int sum = five - 5;
  for (int i = 0; i < 100; ++i) sum += many[i];
  return sum;
}
NOINLINE static long sum_of(int count, ...) {
  va_list list, again;
  va_start(list, count);
  va_copy(again, list);
  long sum = 0;
  for (int i = 0; i < count; ++i) sum += va_arg(list, long) * va_arg(again, long);
  va_end(again);
  va_end(list);
  return sum + id(sum) - sum;
}
// Many values at once, which have to be kept somewhere while calls run.
NOINLINE static long spilled(long n) {
  return (id(n) + 2 * id(n + 1)) * (id(n + 2) + 3 * id(n + 3)) + (id(n + 4) - id(n + 5)) * (id(n + 6) + (n > 3 ? id(7) : id(8)));
}

int main(void) {
  __int128 q = 900;
  printf("%d %d %d %d\n", far_index(7 - 5000), low_index(311), below(&q, 100), caller());
  printf("%ld %ld %ld\n", (long)q, sum_of(8, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L), spilled(5));
  return 0;
}
