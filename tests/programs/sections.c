// SPDX-License-Identifier: MIT
// Sections with large alignment, functions in sections of the user's, and ones that must not move.
// variants: -O0 | -O2 | -O2 -fno-pie -no-pie
#include <stdint.h>
#include <stdio.h>
#include "stabilizer.h"

__attribute__((aligned(4096), noinline)) int page_aligned(int x) { return x + 1; }
__attribute__((section("mine"), noinline)) int in_mine(int x) { return page_aligned(x) * 2; }
__attribute__((section(".text.hot.mine"), noinline)) int hot(int x) { return in_mine(x) - 3; }
STAB_NO_MOVE int fixed(int x) { return hot(x) + 5; }
__attribute__((aligned(64))) static const char table[64] = "aligned table";
static int data __attribute__((aligned(8192))) = 11;

int main(void) {
  STAB_BEGIN();
  long sum = 0;
  for (int i = 0; i < 1000; ++i) sum += fixed(i) ^ data;
  STAB_END();
  stab_randomize_now();
  printf("%ld %d %s %d\n", sum, (uintptr_t)page_aligned % 4096 == 0, table, (uintptr_t)&data % 8192 == 0);
  return 0;
}
