/* SPDX-License-Identifier: MIT
 * What tests of `stabctl causal` profile: MODE TIMES [FILE]. A line that ends with a mark is named
 * there by its mark. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stabilizer.h"

#ifdef WITH_LIBRARY
void library_works(void);
#else
static void library_works(void) {}
#endif

/* Each takes about a tenth of a millisecond, on one line. */
__attribute__((noinline)) static void hot(void) {
  for (long i = 300000; i > 0; --i) __asm__ volatile("" : "+r"(i)); /* hot */
}
__attribute__((noinline)) static void cold(void) {
  for (long i = 300000; i > 0; --i) __asm__ volatile("" : "+r"(i)); /* cold */
}

static long now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* A request comes in after 4 ms or more, and waits for another step. */
static void arrive(void) {
  const long end = now_us() + 4000;
  while (now_us() < end) {
    hot();
    STAB_PROGRESS("step");
  }
  STAB_ARRIVAL("request");
  STAB_PROGRESS_BEGIN("wait");
  hot();
  STAB_PROGRESS_END("wait");
}

/* Fails the first time, as the file says that is there afterwards. */
static int fails_once(const char* file) {
  if (access(file, F_OK) == 0) return 0;
  fclose(fopen(file, "w"));
  return 9;
}

/* Fails the second time: the file has a byte for each time. */
static int fails_second(const char* name) {
  FILE* file = fopen(name, "a");
  fputc('x', file);
  fflush(file);
  fseek(file, 0, SEEK_END);
  const long times = ftell(file);
  fclose(file);
  return times == 2;
}

int main(int count, char** words) {
  if (count < 3) return 99;
  const char* mode = words[1];
  const long times = atol(words[2]);
  if (strcmp(mode, "crash") == 0) raise(SIGSEGV);
  if (strcmp(mode, "hang") == 0)
    for (;;) pause();
  if (strcmp(mode, "stubborn") == 0) {
    signal(SIGTERM, SIG_IGN);
    for (;;) pause();
  }
  if (strcmp(mode, "leave") == 0) {
    if (fork() == 0) sleep(20);
    return 0;
  }
  if (strcmp(mode, "once") == 0 && fails_once(words[3]) != 0) return 9;
  if (strcmp(mode, "environment") == 0) {
    const char* preloaded = getenv("LD_PRELOAD");
    puts(preloaded == NULL ? "none" : preloaded);
  }
  if (strcmp(mode, "pid") == 0) {
    FILE* file = fopen(words[3], "w");
    fprintf(file, "%ld.", (long)getpid());
    fclose(file);
  }
  const int is_silent = strcmp(mode, "silent") == 0;
  const int has_arrivals = strcmp(mode, "arrive") == 0;
  if (has_arrivals && count > 3 && fails_second(words[3])) return 9;
  const int is_both = strcmp(mode, "both") == 0;
  const int has_phases = strcmp(mode, "phases") == 0;
  for (long i = 0; i < times; ++i) {
    if (has_arrivals)
      arrive();
    else if (has_phases && i >= times / 2)
      cold();
    else
      hot();
    if (is_both) cold();
    library_works();
    if (!is_silent) STAB_PROGRESS("item");
  }
  return 0;
}
