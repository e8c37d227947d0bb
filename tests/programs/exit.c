// SPDX-License-Identifier: MIT
// While a process ends, code of a library runs after the library's destructors.
// library: exit_library.c
// plain_library: exit_plain.c
// variants: -O0 | -O2
#include <stdio.h>
int next(int x);
int main(void) {
  printf("%d\n", next(1));
  return 0;
}
