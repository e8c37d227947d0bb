// SPDX-License-Identifier: MIT
// Functions whose frames are of all kinds: variable arguments, arguments on the stack, variable and
// over-aligned objects, tail calls, computed goto, assembly that uses the stack. Each checks that
// what it keeps in its frame is there after calls, and that alignments hold.
// variants: -O0 | -O1 | -O2 | -O3 | -Os | -O2 -flto | -O2 -flto=thin | -O2 -fno-omit-frame-pointer | -O2 -fstack-protector-strong | -O1 -no-pie -fno-pie
#include <alloca.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hazard.h"

static volatile unsigned sink;

__attribute__((noinline)) static unsigned mix(unsigned x) {
  volatile unsigned local[3] = {x, x * 3, x ^ 0x55};
  sink += local[x % 3];
  return local[0] + local[1] + local[2];
}

__attribute__((noinline)) static unsigned sum_of(int count, ...) {
  va_list list;
  va_start(list, count);
  unsigned sum = 0;
  for (int i = 0; i < count; ++i) sum += mix(va_arg(list, unsigned));
  va_end(list);
  return sum;
}

struct large {
  unsigned words[40];
};

__attribute__((noinline)) static unsigned by_value(struct large a, unsigned at, struct large b) {
  const unsigned before = a.words[at] + b.words[39 - at];
  return before + mix(at) + a.words[(at + 7) % 40] + b.words[at];
}

__attribute__((noinline)) static unsigned many(unsigned a, unsigned b, unsigned c, unsigned d,
                                               unsigned e, unsigned f, unsigned g, unsigned h) {
  return mix(a) + mix(b) + c * 3 + d * 5 + e * 7 + f * 11 + mix(g) * 13 + h * 17;
}

__attribute__((noinline)) static unsigned variable(unsigned n) {
  unsigned sum = 0;
  for (unsigned round = 1; round < 4; ++round) {
    unsigned values[n + round];
    for (unsigned i = 0; i < n + round; ++i) values[i] = mix(i);
    unsigned char* more = alloca(n * round + 1);
    memset(more, (int)round, n * round + 1);
    sum += values[n] + mix(more[n]) + more[n * round];
  }
  return sum;
}

__attribute__((noinline)) static unsigned aligned(unsigned n) {
  _Alignas(128) unsigned values[64];
  _Alignas(32) volatile unsigned other = n;
  memset(values, 0, sizeof values);
  values[n % 64] = mix(n);
  if ((uintptr_t)values % 128 != 0 || (uintptr_t)&other % 32 != 0) return 0;
  return values[n % 64] + mix(other) + values[(n + 1) % 64];
}

__attribute__((noinline)) static unsigned aligned_and_variable(unsigned n) {
  _Alignas(64) unsigned values[16];
  unsigned more[n + 1];
  memset(values, 1, sizeof values);
  more[n] = mix(n);
  if ((uintptr_t)values % 64 != 0) return 0;
  return values[n % 16] + more[n] + mix(values[3]);
}

#if defined(__clang__)
#define MUSTTAIL __attribute__((musttail))
#else
#define MUSTTAIL
#endif
static unsigned tail_b(unsigned n, unsigned sum);
__attribute__((noinline)) static unsigned tail_a(unsigned n, unsigned sum) {
  if (n == 0) return sum + mix(sum);
  const unsigned next = sum + mix(n);
  MUSTTAIL return tail_b(n - 1, next);
}
__attribute__((noinline)) static unsigned tail_b(unsigned n, unsigned sum) {
  if (n == 0) return sum;
  const unsigned next = sum ^ mix(n);
  MUSTTAIL return tail_a(n - 1, next);
}

__attribute__((noinline)) static unsigned interpret(const unsigned char* code) {
  static void* const labels[] = {&&add, &&call, &&twice, &&end};
  unsigned value = 1;
  unsigned kept[20];
  for (unsigned i = 0; i < 20; ++i) kept[i] = mix(i);
  goto* labels[*code++];
add:
  value += kept[value % 20];
  goto* labels[*code++];
call:
  value ^= mix(value);
  goto* labels[*code++];
twice:
  value += value;
  goto* labels[*code++];
end:
  return value;
}

__attribute__((noinline)) static unsigned by_switch(unsigned n) {
  unsigned kept[24];
  for (unsigned i = 0; i < 24; ++i) kept[i] = i;
  switch (n % 9) {
    case 0: kept[1] = mix(3); break;
    case 1: kept[2] = many(1, 2, 3, 4, 5, 6, 7, 8); break;
    case 2: kept[3] = sum_of(3, 1u, 2u, 3u); break;
    case 3: return mix(kept[4]);
    case 4: kept[5] = variable(3); break;
    case 5: kept[n % 24] = aligned(2); break;
    case 6: kept[7] = tail_a(3, 2); break;
    case 7: return kept[7] + mix(8);
    default: kept[8] = mix(9) + mix(10);
  }
  unsigned sum = 0;
  for (unsigned i = 0; i < 24; ++i) sum += kept[i];
  return sum;
}

// Assembly that pushes and pops, and that has rbp to itself.
__attribute__((noinline)) static unsigned assembly(unsigned n) {
  unsigned long out = mix(n);
#if defined(__x86_64__)
  __asm__ volatile("lea -128(%%rsp), %%rsp\n\tpushq %1\n\tpopq %0\n\tlea 128(%%rsp), %%rsp"
                   : "=r"(out)
                   : "r"(out));
  __asm__ volatile(
      "lea -128(%%rsp), %%rsp\n\tpush %%rbp\n\tmov %0, %%rbp\n\tadd $1, %%rbp\n\t"
      "mov %%rbp, %0\n\tpop %%rbp\n\tlea 128(%%rsp), %%rsp"
      : "+a"(out));
#endif
  return (unsigned)out + mix(n + 1);
}

__attribute__((noinline)) static unsigned recurse(unsigned depth, unsigned long lowest) {
  volatile unsigned here = depth;
  if (depth == 0) return here + (unsigned)(lowest == 0);
  return recurse(depth - 1, lowest) + mix(here) - mix(depth) + 1;
}

// Neither has a frame that anybody may change.
__attribute__((naked, noinline)) static unsigned naked(unsigned n) {
  __asm__("sub $24, %rsp\n\tcall mix_for_naked\n\tadd $24, %rsp\n\tret");
}
__attribute__((used, noinline)) unsigned mix_for_naked(unsigned n) { return mix(n); }
__attribute__((no_instrument_function, noinline)) static unsigned unwatched(unsigned n) {
  volatile unsigned kept = n;
  return mix(n) + kept;
}

static unsigned round_of(unsigned n) {
  struct large a;
  struct large b;
  for (unsigned i = 0; i < 40; ++i) {
    a.words[i] = i * n;
    b.words[i] = i + n;
  }
  static const unsigned char code[] = {0, 1, 2, 1, 0, 2, 1, 0, 1, 3};
  unsigned sum = sum_of(9, n, 1u, 2u, 3u, 4u, 5u, 6u, 7u, n) + by_value(a, n % 40, b);
  sum = sum * 31 + many(n, 1, 2, 3, 4, 5, 6, n);
  sum = sum * 31 + variable(n % 50) + aligned(n) + aligned_and_variable(n % 16);
  sum = sum * 31 + tail_a(n % 20, n) + interpret(code) + assembly(n);
  for (unsigned i = 0; i < 9; ++i) sum = sum * 31 + by_switch(n + i);
  return sum * 31 + recurse(n % 100, n + 1) + naked(n) + unwatched(n);
}

int main(void) {
  unsigned expected[16];
  for (unsigned n = 0; n < 16; ++n) expected[n] = round_of(n);
  unsigned all = 0;
  for (unsigned n = 0; n < 16; ++n) all = all * 31 + expected[n];
  unsigned bad = 0;
  const unsigned deep = recurse(20000, 1);
  const double end = section(1);
  for (unsigned n = 0; before(end); ++n) bad += round_of(n % 16) != expected[n % 16];
  printf("sum %u, bad %u, deep %u\n", all, bad, deep);
  return bad != 0;
}
