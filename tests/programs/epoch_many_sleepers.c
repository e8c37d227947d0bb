// SPDX-License-Identifier: MIT
// Many threads that sleep, most of them all the time: now and then one is woken, works, and sleeps again, or ends and makes room
// for a new one. Nobody's sleep is cut short, and nobody's work is lost.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <sched.h>
#include <semaphore.h>

enum { SLEEPERS = 1500, TICKERS = 10 };
static struct sleeper {
  pthread_t thread;
  sem_t bell;
  int ends;
  unsigned woken;
} sleepers[SLEEPERS];
static unsigned rung, heard, over;
static pthread_attr_t small;

static void *sleep_until_rung(void *argument) {
  struct sleeper *own = argument;
  for (;;) {
    CHECK(sem_wait(&own->bell) == 0);
    work_once();
    ++own->woken;
    __atomic_fetch_add(&heard, 1, __ATOMIC_ACQ_REL);
    if (own->ends) return NULL;
  }
}
static void *tick(void *unused) {
  (void)unused;
  struct timespec moment = in_ns(5000000);
  while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
    double start = wall_ms();
    CHECK(nanosleep(&moment, NULL) == 0);
    CHECK(wall_ms() - start >= 5);
    work_once();
  }
  return NULL;
}

static void start(struct sleeper *sleeper) {
  sleeper->ends = 0;
  CHECK(pthread_create(&sleeper->thread, &small, sleep_until_rung, sleeper) == 0);
}
static void ring(struct sleeper *sleeper) {
  ++rung;
  CHECK(sem_post(&sleeper->bell) == 0);
}
static void end(struct sleeper *sleeper) {
  sleeper->ends = 1;
  ring(sleeper);
  join_thread(sleeper->thread);
}

int main(void) {
  CHECK(pthread_attr_init(&small) == 0);
  CHECK(pthread_attr_setstacksize(&small, 65536) == 0);
  for (int i = 0; i < SLEEPERS; ++i) {
    CHECK(sem_init(&sleepers[i].bell, 0, 0) == 0);
    start(&sleepers[i]);
  }
  pthread_t tickers[TICKERS];
  for (int i = 0; i < TICKERS; ++i) tickers[i] = start_thread(tick, NULL);
  uint32_t state = 1;
  for (double finish = section(1); before(finish);) {
    work_ms(1);
    struct sleeper *chosen = &sleepers[draw(&state) % SLEEPERS];
    if (draw(&state) % 4 != 0) {
      ring(chosen);
    } else {
      while (__atomic_load_n(&heard, __ATOMIC_ACQUIRE) != rung) sched_yield();
      end(chosen);
      start(chosen);
    }
  }
  while (__atomic_load_n(&heard, __ATOMIC_ACQUIRE) != rung) sched_yield();
  for (int i = 0; i < SLEEPERS; ++i) end(&sleepers[i]);
  __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < TICKERS; ++i) join_thread(tickers[i]);
  unsigned woken = 0;
  for (int i = 0; i < SLEEPERS; ++i) woken += sleepers[i].woken;
  CHECK(woken == rung);
  puts("all slept and woke");
  return 0;
}
