// SPDX-License-Identifier: MIT
// Ends by a fault in a moved function: the exit status says so.
// variants: -O0 | -O2
#include <stdio.h>
__attribute__((noinline)) int reader(volatile int *p) { return *p + 1; }
int main(void) {
  puts("before");
  fflush(stdout);
  return reader((volatile int *)24);
}
