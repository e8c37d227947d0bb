// SPDX-License-Identifier: MIT
// hot KIND MS: computes for MS milliseconds of CPU time, a quarter of them in `few` and the rest in
// `many`, for profiler_test and tests/system. KIND is `alone`, or `forks` if a child shall compute.
// hot rounds N: computes N rounds, for bench/profile_cost.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef TIMES
#define TIMES 3
#endif

static volatile unsigned sink;

__attribute__((noinline)) void few(unsigned rounds) {
  unsigned x = rounds;
  for (unsigned i = 0; i < rounds; ++i) {
    x = x * 1664525u + 1013904223u;
    __asm__ volatile("" : "+r"(x));
  }
  sink = x;
}

__attribute__((noinline)) void many(unsigned rounds) {
  unsigned x = ~rounds;
  for (unsigned i = 0; i < TIMES * rounds; ++i) {
    x = x * 1664525u + 1013904223u;
    __asm__ volatile("" : "+r"(x));
  }
  sink = x;
}

static long cpu_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

int main(int argc, char **argv) {
  const char *kind = argc > 2 ? argv[1] : "alone";
  const long ms = argc > 2 ? atol(argv[2]) : 100;
  if (strcmp(kind, "forks") == 0) {
    const pid_t child = fork();
    if (child > 0) {
      int status = 0;
      waitpid(child, &status, 0);
      return status != 0;
    }
  }
  const int counts = strcmp(kind, "rounds") == 0;
  for (long round = 0; counts ? round < ms : cpu_ms() < ms; ++round) {
    few(20000);
    many(20000);
  }
  puts("done");
  return 0;
}
