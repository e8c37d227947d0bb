// SPDX-License-Identifier: MIT
// Functions split into a hot and a cold part, by gcc too.
// variants: -O2 | -O3
// compilers: szc gcc
#include <stdio.h>
#include <stdlib.h>

__attribute__((cold, noinline)) static int complain(int x) {
  printf("odd one: %d\n", x);
  return -1;
}
__attribute__((noinline)) int check(int x) {
  if (__builtin_expect(x == 777, 0)) {
    int r = complain(x);
    if (r < 0) {
      char buffer[64];
      snprintf(buffer, sizeof buffer, "<%d>", r);
      puts(buffer);
      return (int)buffer[1];
    }
  }
  return x * 2;
}
int main(void) {
  long sum = 0;
  for (int i = 0; i < 1000; ++i) sum += check(i);
  printf("%ld\n", sum);
  if (sum == 1) abort();
  return 0;
}
