// SPDX-License-Identifier: MIT
// Shared by the epoch_* programs: a budget of CPU time, checks that end the program, and work with a known result.
// HAZARD_MS is the CPU time that a program spends in all its sections, in milliseconds; without it 200.
// What a program prints never depends on how far it came in its time.
#ifndef HAZARD_H
#define HAZARD_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define UNUSED __attribute__((unused))
#define CHECK(what) ((what) ? (void)0 : fail(__FILE__, __LINE__, #what))

UNUSED __attribute__((noreturn, cold)) static void fail(const char *file, int line, const char *what) {
  dprintf(2, "%s:%d: not so: %s (errno %d)\n", file, line, what, errno);
  _exit(70);
}

UNUSED static double clock_ms(clockid_t which) {
  struct timespec t;
  clock_gettime(which, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}
UNUSED static double cpu_ms(void) { return clock_ms(CLOCK_PROCESS_CPUTIME_ID); }
UNUSED static double wall_ms(void) { return clock_ms(CLOCK_MONOTONIC); }
UNUSED static struct timespec in_ns(long ns) {
  struct timespec t = {ns / 1000000000, ns % 1000000000};
  return t;
}

UNUSED static double whole_ms(void) {
  const char *text = getenv("HAZARD_MS");
  return text ? atof(text) : 200;
}

// A section's time: `for (double end = section(0.5); before(end);)` takes half of the program's.
UNUSED static double section(double part) { return cpu_ms() + part * whole_ms(); }
UNUSED static int before(double end) { return cpu_ms() < end; }

// Calls, a jump table, function pointers and loops; work(WORK) is WORKED at every optimization.
enum { WORK = 1000 };
static const uint32_t WORKED = 0x62063dcbu;
UNUSED NOINLINE static uint32_t work_add(uint32_t x) { return x + 0x9e3779b9u; }
UNUSED NOINLINE static uint32_t work_turn(uint32_t x) { return (x << 7 | x >> 25) ^ 0x55aa55aau; }
UNUSED NOINLINE static uint32_t work_choose(uint32_t x) {
  switch (x & 15) {
  case 0: return x * 3;
  case 1: return x + 11;
  case 2: return x ^ (x >> 3);
  case 3: return work_turn(x);
  case 4: return x * x + 1;
  case 5: return ~x;
  case 6: return work_add(x);
  case 7: return x - 77;
  case 8: return x * 0x01000193u;
  case 9: return (x >> 1) + 5;
  default: return work_turn(work_add(x));
  }
}
UNUSED NOINLINE static uint32_t work(int rounds) {
  uint32_t (*const volatile turns[])(uint32_t) = {work_add, work_choose, work_turn};
  uint32_t x = 1;
  for (int i = 0; i < rounds; ++i) x = turns[i % 3](work_choose(x));
  return x;
}
// A few microseconds of work, checked.
UNUSED NOINLINE static void work_once(void) { CHECK(work(WORK) == WORKED); }
UNUSED NOINLINE static void work_ms(double ms) {
  for (double end = cpu_ms() + ms; before(end);) work_once();
}

// A sequence of numbers that is the same everywhere.
UNUSED static uint32_t draw(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

UNUSED static pthread_t start_thread(void *(*run)(void *), void *argument) {
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, run, argument) == 0);
  return thread;
}
UNUSED static void *join_thread(pthread_t thread) {
  void *result = NULL;
  CHECK(pthread_join(thread, &result) == 0);
  return result;
}
// Works until *stop is set, for threads that keep the CPU clock running.
UNUSED static void *burn(void *stop) {
  while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) work_once();
  return NULL;
}
UNUSED static void end_burning(int *stop, pthread_t thread) {
  __atomic_store_n(stop, 1, __ATOMIC_RELEASE);
  join_thread(thread);
}
#endif
