// SPDX-License-Identifier: MIT
// Leaves by _exit in a signal handler after main, which waits for the file that the argument names: what is written then may be
// the report's last line.
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static void leave(int number) {
  (void)number;
  _exit(0);
}

int main(int count, char **arguments) {
  const struct itimerval soon = {{0, 0}, {0, 100000}};
  signal(SIGALRM, leave);
  while (count > 1 && access(arguments[1], F_OK) != 0) usleep(1000);
  return setitimer(ITIMER_REAL, &soon, NULL);
}
