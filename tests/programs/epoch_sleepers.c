// SPDX-License-Identifier: MIT
// Threads that sleep whenever an epoch comes, for a long time or for a moment each, do not keep layouts for ever: main in
// pthread_join, a reader of a pipe, waits with a timeout. One thread works.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <poll.h>

static int over;
static int ends[2];

static void *work_long(void *unused) {
  (void)unused;
  for (double end = section(1); before(end);) {
    work_ms(1);
    CHECK(write(ends[1], "x", 1) == 1);
  }
  __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
  CHECK(write(ends[1], "q", 1) == 1);
  return NULL;
}
static void *read_pipe(void *unused) {
  (void)unused;
  char byte = 0;
  while (byte != 'q') {
    CHECK(read(ends[0], &byte, 1) == 1);
    work_once();
  }
  return NULL;
}
static void *tick(void *unused) {
  (void)unused;
  struct timespec moment = in_ns(300000);
  while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
    work_once();
    double start = wall_ms();
    CHECK(nanosleep(&moment, NULL) == 0);
    CHECK(poll(NULL, 0, 1) == 0);
    CHECK(wall_ms() - start >= 1.3);
  }
  return NULL;
}
static void *sleep_long(void *unused) {
  (void)unused;
  struct timespec long_time = in_ns(100000000);
  while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
    work_once();
    CHECK(nanosleep(&long_time, NULL) == 0);
  }
  return NULL;
}

int main(void) {
  CHECK(pipe(ends) == 0);
  void *(*const all[])(void *) = {read_pipe, tick, sleep_long};
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) threads[i] = start_thread(all[i], NULL);
  join_thread(start_thread(work_long, NULL));
  for (int i = 0; i < 3; ++i) join_thread(threads[i]);
  puts("all woke in time");
  return 0;
}
