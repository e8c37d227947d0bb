// SPDX-License-Identifier: MIT
// 256 functions of different sizes; each says where it is running and what its address is taken to
// be. For tests/szc/randomness_test.cc.
#include <stdint.h>
#include <stdio.h>

// The code before the `lea` is the same in every copy; the filling behind it is never reached.
#define PLACE(n)                                            \
  __attribute__((noinline)) static uintptr_t place_##n(void) { \
    uintptr_t here;                                         \
    __asm__ volatile("lea 0(%%rip), %0\n\tjmp 1f\n\t.fill %c1, 1, 0x90\n1:" \
                     : "=r"(here)                           \
                     : "i"((0x##n * 37) % 509));            \
    return here;                                            \
  }

#define ROW(F, n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7) \
  F(n##8) F(n##9) F(n##a) F(n##b) F(n##c) F(n##d) F(n##e) F(n##f)
#define ALL(F) ROW(F, 0) ROW(F, 1) ROW(F, 2) ROW(F, 3) ROW(F, 4) ROW(F, 5) ROW(F, 6) ROW(F, 7) \
  ROW(F, 8) ROW(F, 9) ROW(F, a) ROW(F, b) ROW(F, c) ROW(F, d) ROW(F, e) ROW(F, f)

ALL(PLACE)

#define ENTRY(n) place_##n,
static uintptr_t (*const places[])(void) = {ALL(ENTRY)};

int main(void) {
  for (unsigned i = 0; i < sizeof places / sizeof *places; ++i)
    printf("%lu %lu\n", (unsigned long)places[i](), (unsigned long)(uintptr_t)places[i]);
  return 0;
}
