// SPDX-License-Identifier: MIT
// Labels as values: in constant and writable tables, on the stack, compared and subtracted. gcc -Os
// gives functions odd addresses.
// compilers: szc gcc
// variants: -O0 | -O1 | -O2 | -O3 | -Os | -O2 -fno-pie -no-pie | -O0 -fno-pie -no-pie
#include <stdio.h>

__attribute__((noinline)) static long run(const unsigned char *program) {
  static const void *const table[] = {&&add, &&triple, &&less, &&swap, &&done};
  static void *writable[2] = {&&add, &&triple};
  void *local = &&less;
  const char *volatile base = &&add;
  long acc = 1, other = 2;
  goto *table[*program++];
add:
  acc += other;
  goto *table[*program++];
triple:
  acc *= 3;
  goto *table[*program++];
less:
  acc -= 7;
  if (acc > 500) goto *writable[acc & 1];
  goto *table[*program++];
swap: {
  long t = acc;
  acc = other;
  other = t;
  void *kept = writable[0];
  writable[0] = writable[1];
  writable[1] = kept;
  if (other == 99) goto *local;
  goto *table[*program++];
}
done:;
  const int first = writable[0] == table[0];
  return acc * 1000 + other + (local == table[2]) * 7 + first * 5 +
         ((const char *)writable[first] - base == (const char *)&&triple - (const char *)&&add) * 13;
}

int main(void) {
  unsigned char program[2000];
  unsigned state = 1;
  for (int i = 0; i < 1999; ++i) {
    state = state * 1103515245u + 12345u;
    program[i] = (state >> 16) & 3;
  }
  program[1999] = 4;
  const unsigned char small[] = {0, 1, 2, 3, 0, 2, 4};
  long (*volatile by_pointer)(const unsigned char *) = run;
  printf("%ld %ld\n", run(small), by_pointer(small));
  const unsigned char large[] = {1, 1, 1, 1, 1, 1, 1, 2, 4, 4, 4};
  printf("%ld\n", run(large));
  return (int)(run(program) & 1);
}
