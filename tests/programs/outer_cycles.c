// SPDX-License-Identifier: MIT
// Loops of main inside a cycle with two entries, which is no loop to the compiler: the pads of their rounds must not add up.
// variants: -O0 | -O2 | -O3 -flto
#include <stdint.h>
#include <stdio.h>

enum { ROUNDS = 100000, MOST = 64 << 10 };
static volatile int sum;
static uintptr_t lowest = UINTPTR_MAX;

__attribute__((noinline)) static void leaf(int i) {
  volatile char here = (char)i;
  if ((uintptr_t)&here < lowest) lowest = (uintptr_t)&here;
  sum += here & 1;
}

int main(int count, char** arguments) {
  volatile char here = 0;
  int round = 0;
  if (count > 7 && arguments[7] != NULL) goto inside;
outside:
  for (int i = 0; i < 3; ++i) leaf(i);
inside:
  leaf(round);
  if (++round < ROUNDS) {
    if (round % 4 == 1) goto inside;
    goto outside;
  }
  puts((uintptr_t)&here - lowest < MOST ? "shallow" : "deep");
  return 0;
}
