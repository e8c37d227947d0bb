// SPDX-License-Identifier: MIT
// Regions with names: nested, overlapping, in threads, a signal handler and a child, more than fit, and one that is
// open at the end. The names and numbers are those of tests/szc/regions_test.sh.
// variants: -O0 -pthread | -O2 -pthread | -O2 -fno-pie -no-pie -pthread
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "stabilizer.h"

static volatile unsigned sink;

__attribute__((noinline)) static void pass(long ms) {
  struct timespec time = {0, ms * 1000000};
  while (nanosleep(&time, &time) != 0) {
  }
}

static void *work(void *name) {
  for (int i = 0; i < 1000; ++i) {
    STAB_BEGIN_REGION((const char *)name);
    STAB_BEGIN_REGION("all");
    sink += (unsigned)i;
    STAB_END_REGION("all");
    STAB_END_REGION((const char *)name);
  }
  return NULL;
}

static void handle(int number) {
  (void)number;
  STAB_BEGIN_REGION("handler");
  sink += 1;
  STAB_END_REGION("handler");
}

int main(void) {
  STAB_BEGIN_REGION("nested");
  STAB_BEGIN_REGION("nested");
  STAB_BEGIN_REGION("other-one");
  pass(20);
  STAB_END_REGION("nested");
  STAB_END_REGION("nested");
  STAB_END_REGION("nested");
  pass(20);
  STAB_END_REGION("other-one");
  STAB_END_REGION("never.begun");

  pthread_t threads[4];
  static const char *const names[4] = {"thread_0", "thread_1", "thread_2", "thread_3"};
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, (void *)names[i]);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);

  signal(SIGUSR1, handle);
  STAB_BEGIN_REGION("handler");
  raise(SIGUSR1);
  STAB_END_REGION("handler");
  raise(SIGUSR1);

  const pid_t child = fork();
  if (child == 0) {
    STAB_BEGIN_REGION("child");
    STAB_END_REGION("child");
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);

  STAB_BEGIN_REGION("no name");
  STAB_END_REGION("no name");
  for (int i = 0; i < 60; ++i) {
    char name[16];
    snprintf(name, sizeof name, "n%d", i);
    STAB_BEGIN_REGION(name);
    STAB_END_REGION(name);
  }
  STAB_BEGIN_REGION("nested");
  pass(20);
  printf("%d\n", status);
  return 0;
}
