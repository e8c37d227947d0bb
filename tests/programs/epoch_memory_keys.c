// SPDX-License-Identifier: MIT
// A thread whose stack lies in memory with a protection key of its own, as sandboxes inside a process have it.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <sys/mman.h>

enum { STACK = 1 << 20 };
NOINLINE static int deep(int n) {
  volatile char bytes[300];
  for (int i = 0; i < 200; ++i) bytes[i] = (char)i;
  return n == 0 ? bytes[7] - 7 : deep(n - 1) + 1;
}
static void *at_depth(void *given) {
  for (double end = section(0.7); before(end);) CHECK(deep(60) == 60);
  return given;
}

int main(void) {
  work_ms(whole_ms() * 0.3);
  const int key = pkey_alloc(0, 0);
  char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(stack != MAP_FAILED);
  // Without keys in the processor the thread has plain memory.
  if (key >= 0) CHECK(pkey_mprotect(stack, STACK, PROT_READ | PROT_WRITE, key) == 0);
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, STACK) == 0);
  CHECK(pthread_create(&thread, &attributes, at_depth, NULL) == 0);
  join_thread(thread);
  puts("came back from its stack");
  return 0;
}
