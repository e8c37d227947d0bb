// SPDX-License-Identifier: MIT
// Waits until the machine is as fast as it can be. On virtual machines the host's other guests take turns at making a
// CPU slower by a third and more, for minutes, and neither load nor steal time shows it.
//
//   full_speed FILE SECONDS [LOG]
//
// FILE holds the shortest time that a loop of about a millisecond has taken on this machine; it is made and updated. The
// program ends once the loop takes at most 7 % longer than that in a quarter of a second, or after so many seconds. If
// FILE is missing, the program times the loop for 20 seconds first, because the first loops may be slow ones. LOG
// (default: FILE.log) gets a line for each wait: the seconds, the last loop's time divided by the shortest, and
// "in-vain" if the machine did not become fast.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { in_a_row = 20, first_seconds = 20 };
static uint64_t table[1 << 14];

// Independent operations and loads: a CPU that shares its core with another one is slower at them.
static uint64_t loop(void) {
  uint64_t a = 1, b = 2, c = 3, d = 4;
  for (unsigned i = 0; i < 600000; ++i) {
    a = a * 6364136223846793005u + table[i & 16383];
    b = (b ^ a) + (c >> 7);
    c += table[(i * 17) & 16383] ^ (d << 3);
    d = d * 2862933555777941757u + 1;
    table[(i * 5) & 16383] = c;
  }
  return a ^ b ^ c ^ d;
}

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double timed_loop(void) {
  static volatile uint64_t sink;
  const double begun = now(CLOCK_PROCESS_CPUTIME_ID);
  sink += loop();
  const double took = now(CLOCK_PROCESS_CPUTIME_ID) - begun;
  nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  return took;
}

// FILE is replaced as a whole, so an interrupted wait never leaves half a number.
static int keep(const char* path, double best) {
  char fresh[4096];
  if ((size_t)snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid()) >= sizeof fresh)
    return -1;
  FILE* file = fopen(fresh, "w");
  if (!file) return -1;
  const int written = fprintf(file, "%.9f\n", best) > 0;
  return fclose(file) == 0 && written ? rename(fresh, path) : -1;
}

int main(int count, char** words) {
  if (count != 3 && count != 4) {
    fprintf(stderr,
            "usage: %s FILE SECONDS [LOG]\n"
            "Waits until a loop is as fast as the fastest one in FILE, or so many seconds; LOG "
            "(FILE.log) gets the wait.\n"
            "If FILE is missing, loops are timed for %d seconds first.\n",
            words[0], first_seconds);
    return 2;
  }
  double best = 0;
  FILE* file = fopen(words[1], "r");
  if (file) {
    if (fscanf(file, "%lf", &best) != 1) best = 0;
    fclose(file);
  }
  const double known = best;
  if (known == 0) {
    best = timed_loop();
    for (const double end = now(CLOCK_MONOTONIC) + first_seconds; now(CLOCK_MONOTONIC) < end;) {
      const double took = timed_loop();
      if (took < best) best = took;
    }
  }
  const double start = now(CLOCK_MONOTONIC), patience = atof(words[2]);
  double took = 0;
  int good = 0;
  while (good < in_a_row && now(CLOCK_MONOTONIC) < start + patience) {
    took = timed_loop();
    if (took < best) best = took;
    good = took <= 1.07 * best ? good + 1 : 0;
  }
  if (best != known && keep(words[1], best) != 0)
    fprintf(stderr, "full_speed: cannot write %s\n", words[1]);
  char log[4096];
  snprintf(log, sizeof log, "%s%s", words[count == 4 ? 3 : 1], count == 4 ? "" : ".log");
  file = fopen(log, "a");
  if (!file) {
    fprintf(stderr, "full_speed: cannot write %s\n", log);
    return 1;
  }
  fprintf(file, "%.2f %.3f%s\n", now(CLOCK_MONOTONIC) - start, took / best,
          good < in_a_row ? " in-vain" : "");
  return fclose(file) == 0 ? 0 : 1;
}
