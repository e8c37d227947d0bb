// SPDX-License-Identifier: MIT
// The process is stopped and continued again and again while it waits: such waits end in their time, not with EINTR.
// variants: -O0 | -O2
#include "hazard.h"
#include <poll.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/wait.h>

// A wait for many descriptors takes the kernel long to begin, so that it is often there when a timer expires.
enum { MANY = 1000 };
static struct pollfd many[MANY];

// Until nobody has the other end of the pipe. Whoever was stopped has been continued then.
static void stop_again_and_again(pid_t whom, int pipe_end) {
  struct pollfd parent = {pipe_end, 0, 0};
  do {
    struct timespec stopped = in_ns(1000000);
    if (kill(whom, SIGSTOP) != 0) break;
    nanosleep(&stopped, NULL);
    kill(whom, SIGCONT);
  } while (poll(&parent, 1, 6) == 0);
  _exit(0);
}

int main(void) {
  int ends[2], end_of_all[2];
  CHECK(pipe(ends) == 0 && pipe(end_of_all) == 0);
  for (int i = 0; i < MANY; ++i) many[i] = (struct pollfd){ends[0], POLLIN, 0};
  const pid_t self = getpid(), child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    close(end_of_all[1]);
    stop_again_and_again(self, end_of_all[0]);
  }
  const double end = section(1);
  while (before(end)) {
    struct timespec t = in_ns(5000000), rest;
    struct timeval wait = {0, 5000};
    work_once();
    CHECK(poll(many, MANY, 8) == 0);
    CHECK(nanosleep(&t, &rest) == 0);
    CHECK(select(0, NULL, NULL, NULL, &wait) == 0);
  }
  CHECK(close(end_of_all[1]) == 0 && waitpid(child, NULL, 0) == child);
  puts("no wait was cut short");
  return 0;
}
