// SPDX-License-Identifier: MIT
// Prints at how many places a loop that calls nothing was seen, and whether a call between two functions goes straight to
// the callee's code. For tests/szc/moving_test.sh.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

enum { MOST_PLACES = 4096, BLOCK = 4096 };
static uintptr_t places[MOST_PLACES];
static volatile unsigned found, samples, in_loop;

static void on_sample(int number, siginfo_t *info, void *context) {
  (void)number;
  (void)info;
  if (!in_loop) return;
  const uintptr_t place = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] / BLOCK;
  samples = samples + 1;
  for (unsigned i = 0; i < found; ++i)
    if (places[i] == place) return;
  if (found < MOST_PLACES) places[found] = place, found = found + 1;
}

// Ends when it was sampled often enough.
__attribute__((noinline)) static uint32_t loop(unsigned wanted) {
  uint32_t x = 1;
  in_loop = 1;
  while (samples < wanted)
    for (int i = 0; i < 1000; ++i) x = x * 1664525u + 1013904223u;
  in_loop = 0;
  return x;
}

__attribute__((noinline)) static void work(void) {
  for (volatile int i = 0; i < 1000000; ++i) continue;
}

// The call instruction that led here: where it goes must be code of this function, not a jump to it.
__attribute__((noinline)) static int reached_directly(void) {
  const uint8_t *back = __builtin_return_address(0);
  int32_t distance;
  if (back[-5] != 0xe8) return 0;
  memcpy(&distance, back - 4, sizeof distance);
  const uint8_t *target = back + distance;
  return target[0] != 0xe9 && !(target[0] == 0xff && target[1] == 0x25);
}
__attribute__((noinline)) static int caller(void) {
  const int direct = reached_directly();
  __asm__ volatile("" ::: "memory");
  return direct;
}

int main(void) {
  struct sigaction action = {.sa_sigaction = on_sample, .sa_flags = SA_SIGINFO | SA_RESTART};
  const struct itimerval often = {{0, 3000}, {0, 3000}};
  int direct = 0, calls = 0;
  sigaction(SIGPROF, &action, NULL);
  setitimer(ITIMER_PROF, &often, NULL);
  loop(80);
  for (; calls < 50; ++calls) {
    work();
    direct += caller();
  }
  printf("%u places, %d of %d calls direct\n", found, direct, calls);
  return 0;
}
