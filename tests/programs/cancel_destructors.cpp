// SPDX-License-Identifier: MIT
// A thread that is cancelled in a system call leaves through its destructors, each time.
// link: -pthread
// variants: -O0 | -O2
#include <pthread.h>
#include <unistd.h>

#include <cstdio>

static int ends[2];
static int destroyed;
struct Guard {
  ~Guard() { ++destroyed; }
};
__attribute__((noinline)) static void blocked() {
  Guard guard;
  char byte;
  (void)!read(ends[0], &byte, 1);
  asm volatile("" ::: "memory");
}
static void *run(void *) {
  blocked();
  return nullptr;
}
int main() {
  if (pipe(ends) != 0) return 1;
  for (int i = 0; i < 5; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, run, nullptr);
    usleep(3000);
    for (volatile int k = 0; k < 5000000; k = k + 1) continue;
    pthread_cancel(thread);
    pthread_join(thread, nullptr);
  }
  std::printf("%d destroyed\n", destroyed);
}
