// SPDX-License-Identifier: MIT
// Threads that wait in calls which any signal ends for good, while only brief threads run, with all signals blocked for
// half of their lives: no wait of the program ends.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

enum { WAITERS = 6, BRIEF = 3 };
static int over;

static void *wait_by_epoll(void *unused) {
  int epoll = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  (void)unused;
  CHECK(epoll >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, over, &event) == 0);
  CHECK(epoll_wait(epoll, &event, 1, -1) == 1);
  close(epoll);
  return NULL;
}
static void *wait_by_poll(void *unused) {
  struct pollfd one = {over, POLLIN, 0};
  (void)unused;
  CHECK(poll(&one, 1, -1) == 1);
  return NULL;
}

static uint64_t raw_mask(uint64_t set) {
  uint64_t old = 0;
  CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, &old, sizeof set) == 0);
  return old;
}
static void *brief(void *unused) {
  (void)unused;
  for (int i = 0; i < 12; ++i) {
    uint64_t old = raw_mask(~(uint64_t)0);
    work_once();
    work_once();
    raw_mask(old);
    work_once();
  }
  return NULL;
}

// Starts all the others, so that the first thread sleeps as well.
static void *start_brief_ones(void *unused) {
  (void)unused;
  for (double end = section(1); before(end);) {
    pthread_t threads[BRIEF];
    for (int i = 0; i < BRIEF; ++i) threads[i] = start_thread(brief, NULL);
    for (int i = 0; i < BRIEF; ++i) join_thread(threads[i]);
  }
  return NULL;
}

int main(void) {
  pthread_t waiters[WAITERS];
  uint64_t one = 1;
  over = eventfd(0, 0);
  CHECK(over >= 0);
  for (int i = 0; i < WAITERS; ++i) waiters[i] = start_thread(i % 2 ? wait_by_poll : wait_by_epoll, NULL);
  join_thread(start_thread(start_brief_ones, NULL));
  CHECK(write(over, &one, sizeof one) == sizeof one);
  for (int i = 0; i < WAITERS; ++i) join_thread(waiters[i]);
  puts("no wait ended early");
  return 0;
}
