// SPDX-License-Identifier: MIT
// The address of a function is one and the same in every file and library, moved or not.
// sources: identity_other.c
// library: identity_library.c
// variants: -O0 | -O2 | -O2 -fno-pie -no-pie | -O2 -fno-plt
#include <stdio.h>

typedef int (*Function)(int);
int shared(int x) { return x + 1; }
static int hidden(int x) { return x + 2; }
Function other_shared(void);
Function other_library(void);
Function library_own(void);
int library_function(int x);
int library_compare(Function f);
Function library_of_main(void);

__attribute__((noinline)) static Function hidden_from_here(void) { return hidden; }

int main(void) {
  printf("%d %d %d\n", shared == other_shared(), library_function == other_library(), library_function == library_own());
  printf("%d %d %d\n", hidden == hidden_from_here(), library_compare(shared), library_of_main() == shared);
  printf("%d %d %d\n", other_shared()(1), other_library()(1), library_own()(5));
  return hidden_from_here()(40);
}
