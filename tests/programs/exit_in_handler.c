// SPDX-License-Identifier: MIT
// Leaves by _exit in a signal handler, which may interrupt the heap anywhere: in malloc, in free, while a thread begins or ends.
// Arguments: "threads" for the latter; how long to wait, in microseconds.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static void leave(int number) {
  (void)number;
  _exit(0);
}

static void *use(void *argument) {
  for (int i = 0; i < 50; ++i) {
    char *volatile block = malloc((size_t)(i * 40));
    if (block == NULL) _exit(1);
    free(block);
  }
  return argument;
}

int main(int count, char **arguments) {
  if (count < 3) return 2;
  const struct itimerval once = {{0, 0}, {0, atoi(arguments[2])}};
  signal(SIGALRM, leave);
  setitimer(ITIMER_REAL, &once, NULL);
  for (;;) {
    pthread_t thread;
    if (strcmp(arguments[1], "threads") != 0)
      use(NULL);
    else if (pthread_create(&thread, NULL, use, NULL) == 0)
      pthread_join(thread, NULL);
  }
}
