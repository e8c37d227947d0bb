// SPDX-License-Identifier: MIT
// Of exit.c: hands a function of its own to a library that calls it last.
#include <stdio.h>

void call_at_the_end(void (*function)(void));
__attribute__((noinline)) static void last(void) {
  puts("called at the end");
  fflush(stdout);
}
__attribute__((constructor)) static void begin(void) { call_at_the_end(last); }
int next(int x) { return x + 1; }
