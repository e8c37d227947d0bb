// SPDX-License-Identifier: MIT
// Frames of gcc grow in place. Here code reaches arguments on the stack, and locals beside them, in every way that gcc has:
// by an index that begins elsewhere, by a pointer that walks, through a nested function, and as the target of a tail call.
// variants: -O0 | -O1 | -O2 | -O3 | -Os | -O2 -fno-omit-frame-pointer | -O2 -fno-pie -no-pie | -O2 -fstack-clash-protection | -O2 -fstack-protector-all | -O2 -fPIC | -O2 -mstackrealign
// compilers: gcc
#include <alloca.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE static long id(long x) {
  __asm__ volatile("" : "+r"(x));
  return x;
}
NOINLINE static void shown(void *object) { __asm__ volatile("" : : "r"(object) : "memory"); }

struct eight {
  long v[8];
};
NOINLINE static long first_of(const long *some) { return *some + id(1); }

// The index counts from a place in the frame, below the argument.
NOINLINE static long by_index(long n, struct eight all) {
  long sum = 0;
  for (long i = 3; i < n + 3; ++i) sum += all.v[i - 3] * id(i);
  return sum + all.v[id(5) - 4];
}
NOINLINE static long by_index_above(long n, struct eight all) {
  long few[3] = {1, 2, 3};
  shown(few);
  return few[id(n) - 5] + all.v[id(n) - 7] + few[id(-4) + 5];
}
NOINLINE static long by_pointer(struct eight all) {
  long sum = 0;
  for (long *p = all.v; p != all.v + 8; ++p) sum = sum * 3 + id(*p);
  return sum;
}
NOINLINE static long backwards(struct eight all, long from) {
  long sum = 0;
  for (long *p = all.v + from; p-- != all.v;) sum = sum * 5 + id(*p);
  return sum;
}
NOINLINE static long passed_on(long n, struct eight all) {
  long sum = 0;
  for (long i = 2; i < n; ++i) sum += first_of(&all.v[i - 2]);
  return sum;
}
NOINLINE static long as_number(struct eight all) {
  static volatile uintptr_t kept;
  kept = (uintptr_t)all.v - 500;
  id(1);
  return *(long *)(kept + (uintptr_t)id(508));
}
NOINLINE static long either(long which, struct eight all) {
  struct eight other = {{9, 8, 7, 6, 5, 4, 3, 2}};
  shown(&other);
  const long *chosen = id(which) ? all.v : other.v;
  return chosen[2] + first_of(chosen + id(3));
}

NOINLINE static long ten(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * id(g) + 8 * h + 9 * id(i) + 10 * j;
}
NOINLINE static long tail(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) {
  long some[4];
  shown(some);
  g += id(1);
  return ten(b, a, d, c, f, e, h, g, j, i);
}
NOINLINE static long pushes(long n) { return id(n) + ten(1, 2, 3, 4, 5, 6, id(7), id(8), n, id(10)); }
// gcc leaves a gap between pushed arguments, so that the wide ones are aligned.
NOINLINE static long wide(long a, long b, long c, long d, long e, long f, long g, long double h, long i, __int128 j) {
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * id(g) + (long)(h * 8) + 9 * id(i) + (long)(j >> 64) + (long)j;
}
NOINLINE static long gap(long n, const long double *h) { return wide(n, 1, 2, 3, 4, 5, 6, *h, 7, (__int128)n << 65); }
NOINLINE static long later_gap(long n, const long double *h) { return wide(n, id(1), 2, 3, 4, 5, 6, *h, id(n), n) + id(8); }
NOINLINE static long two_gaps(long n, const long double *h) {
  return n == 3 ? wide(1, 2, 3, 4, 5, 6, id(7), 8, 9, 10) : wide(n, 1, id(2), 3, 4, 5, 6, *h, 7, n) - id(n);
}

// No register that calls may change is changed by this one, so gcc keeps values in them.
static long touched;
NOINLINE static void touch(void) { __asm__ volatile("incq %0" : "+m"(touched)); }
NOINLINE static long kept(long n, struct eight all) {
  long some[30];
  shown(some);
  const long *below = all.v - 4;
  __asm__ volatile("" : "+r"(below));
  touch();
  return below[n + 4];
}

NOINLINE static long sum_of(int count, ...) {
  va_list more;
  long sum = 0;
  va_start(more, count);
  while (count-- > 0) sum = sum * 7 + id(va_arg(more, long));
  va_end(more);
  return sum;
}

// The inner function gets the address of a part of the frame.
NOINLINE static long nested(long n, struct eight all, long last) {
  long here = id(n);
  long inner(long i) { return here + all.v[i] * last++; }
  long sum = 0;
  for (long i = 0; i < 8; ++i) sum += id(inner(i));
  return sum + last;
}

NOINLINE static long aligned(long n) {
  _Alignas(64) long some[16];
  shown(some);
  for (long i = 0; i < 16; ++i) some[i] = id(i) * n;
  return (long)((uintptr_t)some % 64) + some[id(9)];
}
NOINLINE static long variable(long n) {
  char *some = alloca((size_t)id(n) * 16);
  long all[n];
  memset(some, 3, (size_t)n * 16);
  for (long i = 0; i < n; ++i) all[i] = some[i] + id(i);
  return all[n - 1] + ten(1, 2, 3, 4, 5, 6, 7, 8, 9, all[0]);
}
NOINLINE static struct eight returned(long n) {
  struct eight result;
  for (long i = 0; i < 8; ++i) result.v[i] = id(n) + i;
  return result;
}

NOINLINE static long rare(long n) {
  char text[64];
  if (__builtin_expect(n == 3, 0)) {
    snprintf(text, sizeof text, "rare %ld", id(n));
    if (n == 4) abort();
  } else {
    snprintf(text, sizeof text, "%ld", id(n) * 3);
  }
  switch (n) {
  case 0: return (long)strlen(text) + id(2);
  case 1: return ten(n, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  case 2: return text[0] - id(3);
  case 3: return text[id(5)];
  case 4: return id(7);
  case 5: return sum_of(3, 1L, 2L, 3L);
  default: return (long)strlen(text);
  }
}

NOINLINE static long deep(long n) {
  long here[3] = {n, n + 1, id(n)};
  shown(here);
  return n == 0 ? 0 : deep(n - 1) % 1000 + here[id(1)];
}
static jmp_buf place;
NOINLINE static void leave(long n) {
  long some[5];
  shown(some);
  if (id(n) > 2) longjmp(place, (int)n);
}
NOINLINE static long returns_twice(long n, struct eight all) {
  volatile long sum = n;
  const int seen = setjmp(place);
  if (seen != 0) return sum + seen + all.v[id(7)];
  for (long i = 0; i < 5; ++i) sum += i, leave(i);
  return -1;
}
static int compare(const void *a, const void *b) {
  const long x = id(*(const long *)a), y = id(*(const long *)b);
  return (x > y) - (x < y);
}
NOINLINE static long sorted(struct eight all) {
  long few[4] = {4, id(2), 3, 1};
  qsort(few, 4, sizeof few[0], compare);
  qsort(all.v, 8, sizeof all.v[0], compare);
  return few[0] * 1000 + few[3] * 100 + all.v[0] * 10 + all.v[id(7)];
}

int main(void) {
  const struct eight all = {{1, 20, 3, 40, 5, 60, 7, 80}};
  unsigned long sum = 0;
  for (long round = 0; round < 2000; ++round) {
    const long n = round % 8;
    const long double h = (long double)n + 3;
    const long results[] = {by_index(n, all), by_index_above(7, all), by_pointer(all), backwards(all, n),
                            passed_on(n, all), as_number(all), either(round & 1, all),
                            tail(1, 2, 3, 4, 5, 6, 7, 8, 9, n), pushes(n), sum_of(9, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, n),
                            nested(n, all, 5), aligned(n), variable(n + 1), by_pointer(returned(n)), rare(n),
                            returns_twice(n, all), sorted(all), gap(n, &h),
                            later_gap(n, &h), two_gaps(n, &h), kept(n, all)};
    for (size_t i = 0; i < sizeof results / sizeof results[0]; ++i) {
      sum = sum * 31 + (unsigned long)results[i];
      if (round < 8) printf("%ld ", results[i]);
    }
  }
  printf("\n%lu %ld\n", sum, deep(20000));
  return 0;
}
