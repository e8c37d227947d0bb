// SPDX-License-Identifier: MIT
// Identical functions folded into one by the linker, and unused ones dropped.
// variants: -O2 -Wl,--icf=all | -O2 -Wl,--icf=safe -faddrsig | -O2 -Wl,--gc-sections
#include <stdio.h>

__attribute__((noinline)) int one(int x) { return x * 3 + 1; }
__attribute__((noinline)) int two(int x) { return x * 3 + 1; }
__attribute__((noinline)) int three(int x) { return x * 3 + 2; }
__attribute__((noinline)) int unused(int x) { return x * 5; }
int main(void) {
  int x = 1;
  for (int i = 0; i < 100; ++i) x = one(x) ^ two(i) ^ three(x & 0xff);
  printf("%d\n", x);
  return 0;
}
