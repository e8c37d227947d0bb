// SPDX-License-Identifier: MIT
// Threads that block every signal, through libc and by the raw system call, for long and in hot loops, computing and asleep;
// masks read back as they were set, and what was sent meanwhile arrives once.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <signal.h>

static volatile sig_atomic_t arrived;
static void on_usr1(int number) { arrived += number == SIGUSR1; }

static void same_mask(const sigset_t *a, const sigset_t *b) {
  for (int i = 1; i <= SIGRTMAX; ++i) CHECK(sigismember(a, i) == sigismember(b, i));
}
static sigset_t full(void) {
  sigset_t all;
  sigfillset(&all);
  return all;
}

NOINLINE static void blocked_by_libc(double part) {
  sigset_t all = full(), old, now;
  CHECK(pthread_sigmask(SIG_BLOCK, &all, &old) == 0);
  for (double end = section(part); before(end);) work_once();
  CHECK(pthread_sigmask(SIG_SETMASK, &old, &now) == 0);
  sigdelset(&now, SIGKILL), sigdelset(&now, SIGSTOP), sigdelset(&all, SIGKILL), sigdelset(&all, SIGSTOP);
  same_mask(&now, &all);
}

static uint64_t raw_mask(uint64_t set) {
  uint64_t old = 0;
  CHECK(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, &old, sizeof set) == 0);
  return old;
}
NOINLINE static void blocked_raw(double part) {
  uint64_t old = raw_mask(~(uint64_t)0);
  for (double end = section(part); before(end);) work_once();
  uint64_t unblockable = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);
  CHECK(raw_mask(old) == ~unblockable);
}

NOINLINE static void asleep(int rounds) {
  sigset_t all = full(), old;
  CHECK(pthread_sigmask(SIG_BLOCK, &all, &old) == 0);
  for (int i = 0; i < rounds; ++i) {
    struct timespec t = in_ns(3000000), rest = {0, 0};
    double start = wall_ms();
    CHECK(nanosleep(&t, &rest) == 0);
    CHECK(wall_ms() - start >= 3);
    work_once();
  }
  CHECK(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
}

NOINLINE static void in_hot_loop(double part) {
  sigset_t all = full(), before_it, after;
  CHECK(sigprocmask(SIG_BLOCK, NULL, &before_it) == 0);
  for (double end = section(part); before(end);) {
    sigset_t old;
    CHECK(sigprocmask(SIG_SETMASK, &all, &old) == 0);
    work_once();
    same_mask(&old, &before_it);
    CHECK(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
  }
  CHECK(sigprocmask(SIG_BLOCK, NULL, &after) == 0);
  same_mask(&after, &before_it);
}

// What is sent while all is blocked is pending, alone, and arrives once.
NOINLINE static void pending_ones(double part) {
  for (double end = section(part); before(end);) {
    sigset_t all = full(), old, pending, only;
    CHECK(pthread_sigmask(SIG_BLOCK, &all, &old) == 0);
    int count = arrived;
    CHECK(raise(SIGUSR1) == 0);
    work_ms(2.5);
    CHECK(sigpending(&pending) == 0);
    sigemptyset(&only);
    sigaddset(&only, SIGUSR1);
    same_mask(&pending, &only);
    CHECK(arrived == count);
    CHECK(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
    CHECK(arrived == count + 1);
  }
}

struct Part {
  void (*run)(double);
  double part;
};
static void *in_thread(void *what) {
  struct Part *p = what;
  p->run(p->part);
  return NULL;
}
static void *sleeper(void *unused) {
  asleep(20);
  return unused;
}

int main(void) {
  struct sigaction action = {.sa_handler = on_usr1, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &action, NULL);
  blocked_by_libc(0.1);
  blocked_raw(0.1);
  in_hot_loop(0.1);
  pending_ones(0.1);
  struct Part parts[] = {{blocked_by_libc, 0.6}, {blocked_raw, 0.4}, {in_hot_loop, 0.6}};
  pthread_t threads[5];
  for (int i = 0; i < 3; ++i) threads[i] = start_thread(in_thread, &parts[i]);
  for (int i = 3; i < 5; ++i) threads[i] = start_thread(sleeper, NULL);
  for (double end = section(0.6); before(end);) work_once();
  for (int i = 0; i < 5; ++i) join_thread(threads[i]);
  puts("masks were as set");
  return 0;
}
