// SPDX-License-Identifier: MIT
// used_bytes.c without szc's pass: the post-link step finds the functions by what gcc's code does with their addresses. Two
// more ways: bytes that are read one by one, and one of two functions, whichever a variable says.
// variants: -O0 | -O1 | -O2 | -O3 | -Os | -O2 -fno-pie -no-pie | -O1 -fno-pie -no-pie | -O0 -fno-pie -no-pie
// compilers: gcc
#include "used_bytes.c"

#include <stdlib.h>

// Each step needs the one before, so that no constants of a vectorized loop are elsewhere.
NOINLINE int indexed(int x) {
  int sum = 1;
  for (int i = 0; i < x; i++) sum = sum * 3 + (i ^ x);
  return sum;
}
NOINLINE int one_of_two(int x) {
  int sum = 2;
  for (int i = 0; i < x; i++) sum = sum * 3 + (i | x);
  return sum;
}
NOINLINE int other_of_two(int x) {
  int sum = 3;
  for (int i = 0; i < x; i++) sum = sum * 3 + (i & x);
  return sum;
}
static volatile int choice;

static void more_copies(void) {
  char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int (*const copy)(int) = (int (*)(int))memory;
  for (int i = 0; i < 256; i++) memory[i] = ((volatile char *)indexed)[i];
  printf("%d %d\n", copy(10), indexed(10));
  for (choice = 0; choice < 2; choice++) {
    memcpy(memory, (void *)(choice ? one_of_two : other_of_two), 256);
    printf("%d %d\n", copy(10), choice ? one_of_two(10) : other_of_two(10));
  }
  fflush(stdout);
}
__attribute__((constructor)) static void at_the_end(void) { atexit(more_copies); }
