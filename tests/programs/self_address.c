// SPDX-License-Identifier: MIT
// Static functions that take their own address, which needs no relocation, and keep state by it.
// variants: -O0 | -O2 | -Os | -O2 -fno-pie -no-pie
#include <stdio.h>

typedef struct Node Node;
typedef void *(*Step)(int);
static void *first(int n);
static void *second(int n);
__attribute__((noinline)) static void *first(int n) { return n % 3 == 0 ? (void *)second : (void *)first; }
__attribute__((noinline)) static void *second(int n) { return n % 2 == 0 ? (void *)first : (void *)second; }
static Step table[2] = {first, second};

int main(void) {
  Step step = first;
  int firsts = 0;
  for (int i = 0; i < 1000; ++i) {
    firsts += step == table[0];
    step = (Step)step(i);
    if (step != first && step != second) return 1;
  }
  printf("%d\n", firsts);
  return 0;
}
