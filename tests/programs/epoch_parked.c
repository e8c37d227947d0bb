// SPDX-License-Identifier: MIT
// A handler that never returns parks threads in their first instants, as collectors and crash handlers do, or forks there;
// the process and its children end all the same.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <signal.h>
#include <sys/wait.h>

enum { THREADS = 20 };
static __thread volatile int started;
static volatile int forks;

static void on_usr1(int number) {
  (void)number;
  if (started) return;
  if (!forks)
    for (;;) pause();
  pid_t child = fork();
  if (child == 0) _exit(0);
  int status = -1;
  if (child > 0) CHECK(waitpid(child, &status, 0) == child && status == 0);
}
static void *run(void *argument) {
  started = 1;
  work_once();
  return argument;
}

// In a child, so that it can be done often: most threads have run before they are signalled.
static void park_some(unsigned spin) {
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    for (unsigned i = 0; i < THREADS; ++i) {
      pthread_t thread = start_thread(run, NULL);
      for (volatile unsigned k = 0; k < spin * i; ++k) continue;
      CHECK(pthread_kill(thread, SIGUSR1) == 0);
    }
    exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
  struct sigaction action = {.sa_handler = on_usr1};
  CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
  for (unsigned round = 0; round < 12; ++round) {
    forks = round % 2;
    park_some(round * 7 % 100);
    for (double end = section(1. / 12); before(end);) work_once();
  }
  puts("all ended");
  return 0;
}
