// SPDX-License-Identifier: MIT
// One thread that computes and sleeps by turns, thousands of times: the timer's signal falls next to the system calls, and
// none of them is interrupted or ends early.
// variants: -O0 | -O2
#include "hazard.h"
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/timerfd.h>

static int epoll, timer;
static const double asked[] = {1, 0.06, 1, 0.1, 0.08, 0.12, 0.06, 0.05, 0};
enum { KINDS = sizeof asked / sizeof asked[0] };

NOINLINE static void sleep_by(int kind) {
  struct timespec t = in_ns((long)(asked[kind] * 1e6));
  struct timeval v = {0, (suseconds_t)(asked[kind] * 1e3)};
  struct epoll_event event;
  struct itimerspec set = {.it_value = t};
  uint64_t count;
  sigset_t none;
  sigemptyset(&none);
  switch (kind) {
  case 0: CHECK(poll(NULL, 0, 1) == 0); break;
  case 1: CHECK(nanosleep(&t, &t) == 0); break;
  case 2: CHECK(epoll_wait(epoll, &event, 1, 1) == 0); break;
  case 3: CHECK(select(0, NULL, NULL, NULL, &v) == 0); break;
  case 4: CHECK(ppoll(NULL, 0, &t, NULL) == 0); break;
  case 5: CHECK(pselect(0, NULL, NULL, NULL, &t, &none) == 0); break;
  case 6: CHECK(clock_nanosleep(CLOCK_BOOTTIME, 0, &t, NULL) == 0); break;
  case 7: CHECK(timerfd_settime(timer, 0, &set, NULL) == 0 && read(timer, &count, 8) == 8 && count == 1); break;
  default: CHECK(usleep(0) == 0 && poll(NULL, 0, 0) == 0 && epoll_wait(epoll, &event, 1, 0) == 0);
  }
}

int main(void) {
  uint32_t state = 11;
  epoll = epoll_create1(0);
  timer = timerfd_create(CLOCK_MONOTONIC, 0);
  CHECK(epoll >= 0 && timer >= 0);
  double end = section(1);
  for (int i = 0; i < 5000 && before(end); ++i) {
    int kind = (int)(draw(&state) % KINDS);
    work((int)(draw(&state) % 20000));
    double start = wall_ms();
    sleep_by(kind);
    CHECK(wall_ms() - start >= asked[kind]);
  }
  puts("no sleep was cut short");
  return 0;
}
