// SPDX-License-Identifier: MIT
// Linked to a program with -Wl,--wrap=__libc_start_main it calls the program's main REPEAT times, so that a short program
// lives through epochs as well.
#include <stdlib.h>

typedef int Main(int, char **, char **);
int __real___libc_start_main(Main *, int, char **, Main *, void (*)(void), void (*)(void), void *);
int __wrap___libc_start_main(Main *, int, char **, Main *, void (*)(void), void (*)(void), void *);

static Main *program;
static int repeat(int count, char **arguments, char **environment) {
  const char *times = getenv("REPEAT");
  int status = 0;
  for (long left = times ? atol(times) : 1; left > 0; --left) status = program(count, arguments, environment);
  return status;
}
int __wrap___libc_start_main(Main *start, int count, char **arguments, Main *begin, void (*end)(void), void (*loader)(void),
                             void *stack) {
  program = start;
  return __real___libc_start_main(repeat, count, arguments, begin, end, loader, stack);
}
