// SPDX-License-Identifier: MIT
// Stacks of several parts: a thread uses more than its stack has room for. gcc wraps pthread_create for that, in libgcc.
// variants: -O0 -fsplit-stack -pthread | -O2 -fsplit-stack -pthread
// compilers: gcc
#include <pthread.h>
#include <stdio.h>

__attribute__((noinline)) static long down(long n) {
  char here[10000];
  __asm__ volatile("" : : "r"(here) : "memory");
  return n == 0 ? 0 : down(n - 1) + here[n] * 0 + 1;
}

static void *run(void *sum) {
  *(long *)sum = down(1500);
  return NULL;
}

int main(void) {
  long sum = 0;
  for (int i = 0; i < 3; ++i) {
    long own = 0;
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, &own) != 0 || pthread_join(thread, NULL) != 0) return 1;
    sum = sum * 10 + own;
  }
  printf("%ld\n", sum);
  return 0;
}
