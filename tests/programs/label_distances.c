// SPDX-License-Identifier: MIT
// Distances between labels, which leave no relocation: they hold inside of a copy, but not between stubs.
// variants: -O0 | -O1 | -O2 | -Os | -O2 -fno-pie -no-pie
#include <stdio.h>

__attribute__((noinline)) static int run(const unsigned char *program) {
  static const int distances[] = {&&add - &&add, &&triple - &&add, &&less - &&add, &&done - &&add};
  int acc = 1;
  goto *(&&add + distances[*program++]);
add:
  acc += 5;
  goto *(&&add + distances[*program++]);
triple:
  acc *= 3;
  goto *(&&add + distances[*program++]);
less:
  acc -= 2;
  goto *(&&add + distances[*program++]);
done:
  return acc;
}

int main(void) {
  const unsigned char program[] = {0, 1, 2, 1, 0, 0, 2, 3};
  printf("%d\n", run(program));
  return 0;
}
