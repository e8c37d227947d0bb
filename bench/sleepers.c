// SPDX-License-Identifier: MIT
// sleepers COUNT MS: works for MS milliseconds of CPU time beside COUNT threads that sleep.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned add(unsigned x) { return x * 3 + 1; }
__attribute__((noinline)) static unsigned turn(unsigned x) { return (x << 5 | x >> 27) ^ add(x); }

static void *sleep_on(void *unused) {
  for (;;) pause();
  return unused;
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  for (int i = atoi(arguments[1]); i > 0; --i) {
    pthread_t thread;
    if (pthread_create(&thread, &small, sleep_on, NULL) != 0) return perror("sleepers: pthread_create"), 1;
  }
  const clock_t end = clock() + (clock_t)atol(arguments[2]) * (CLOCKS_PER_SEC / 1000);
  unsigned x = 1;
  while (clock() < end)
    for (int i = 0; i < 1000; ++i) x = turn(x);
  return x == 12345;
}
