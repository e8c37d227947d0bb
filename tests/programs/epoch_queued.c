// SPDX-License-Identifier: MIT
// Every real-time signal, queued and taken by sigwaitinfo, sigtimedwait, signalfd and poll of a filled set while functions
// move: each arrives with its value, in order, once, and nothing else is ever seen.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

// The set of all signals, blocked in every thread.
static sigset_t all;
static int first, last;

static void queue_one(int number, int value) {
  union sigval with = {.sival_int = value};
  CHECK(sigqueue(getpid(), number, with) == 0);
}
static void check_one(const siginfo_t *info, int number, int value) {
  CHECK(info->si_signo == number && info->si_code == SI_QUEUE && info->si_value.sival_int == value && info->si_pid == getpid());
}

static void waited_for(double part) {
  for (double end = section(part); before(end);) {
    for (int i = first; i <= last; ++i) queue_one(i, i * 3), queue_one(i, i * 5);
    work_once();
    for (int i = first; i <= last; ++i) {
      siginfo_t info;
      CHECK(sigwaitinfo(&all, &info) == i);
      check_one(&info, i, i * 3);
      CHECK(sigwaitinfo(&all, &info) == i);
      check_one(&info, i, i * 5);
    }
  }
}

static void nothing_else(double part) {
  for (double end = section(part); before(end);) {
    struct timespec wait = in_ns(400000);
    double start = wall_ms();
    siginfo_t info;
    CHECK(sigtimedwait(&all, &info, &wait) == -1 && errno == EAGAIN);
    CHECK(wall_ms() - start >= 0.4);
    work_ms(0.5);
    sigset_t pending;
    CHECK(sigpending(&pending) == 0);
    for (int i = 1; i <= last; ++i) CHECK(!sigismember(&pending, i));
  }
}

static void by_descriptor(double part) {
  int fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
  CHECK(fd >= 0);
  for (double end = section(part); before(end);) {
    struct signalfd_siginfo info;
    struct pollfd poll_one = {.fd = fd, .events = POLLIN};
    CHECK(poll(&poll_one, 1, 0) == 0);
    CHECK(read(fd, &info, sizeof info) == -1 && errno == EAGAIN);
    for (int i = first; i <= last; ++i) queue_one(i, i + 100);
    work_once();
    for (int i = first; i <= last; ++i) {
      CHECK(poll(&poll_one, 1, 1000) == 1);
      CHECK(read(fd, &info, sizeof info) == sizeof info);
      CHECK((int)info.ssi_signo == i && info.ssi_int == i + 100 && info.ssi_code == SI_QUEUE);
    }
  }
  close(fd);
}

// One thread sends numbered signals, another takes them all.
static int numbers;
static void *take(void *wanted) {
  for (int next = 0; next < *(int *)wanted;) {
    siginfo_t info;
    CHECK(sigwaitinfo(&all, &info) == first + 3);
    check_one(&info, first + 3, next++);
    work(50);
    __atomic_store_n(&numbers, next, __ATOMIC_RELEASE);
  }
  return NULL;
}
static void between_threads(int count) {
  pthread_t taker = start_thread(take, &count);
  for (int i = 0; i < count; ++i) {
    queue_one(first + 3, i);
    work(400);
    while (i - __atomic_load_n(&numbers, __ATOMIC_ACQUIRE) > 50) work_once();
  }
  join_thread(taker);
}

// Real-time handlers run in the order of the queue.
static volatile sig_atomic_t handled;
static void on_real_time(int number, siginfo_t *info, void *context) {
  (void)context;
  check_one(info, number, handled);
  work(50);
  handled += 1;
}
static void handled_ones(double part) {
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = on_real_time;
  sigset_t old, some;
  sigemptyset(&some);
  for (int i = first; i <= last; ++i) {
    sigaction(i, &action, NULL);
    sigaddset(&some, i);
  }
  for (double end = section(part); before(end);) {
    handled = 0;
    int count = 0;
    for (int i = first; i <= last; ++i) queue_one(i, last - i);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &some, &old) == 0);
    CHECK(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
    count = last - first + 1;
    CHECK(handled == count);
  }
}

int main(void) {
  sigfillset(&all);
  first = SIGRTMIN, last = SIGRTMAX;
  CHECK(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
  printf("%d signals\n", last - first + 1);
  int stop = 0;
  waited_for(0.15);
  nothing_else(0.15);
  by_descriptor(0.1);
  pthread_t burner = start_thread(burn, &stop);
  waited_for(0.15);
  nothing_else(0.15);
  by_descriptor(0.1);
  end_burning(&stop, burner);
  between_threads(500);
  handled_ones(0.1);
  puts("no other signal was seen");
  return 0;
}
