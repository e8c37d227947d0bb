// SPDX-License-Identifier: MIT
// The program's own handlers while functions move: timers of every kind, traps and faults with recovery and with a changed
// program counter, handlers in handlers that outlive epochs, signals between threads, and no signal that is not the program's.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

static volatile sig_atomic_t counts[65];
static void handle(int number, void (*run)(int, siginfo_t *, void *), int flags) {
  struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART | flags}, old;
  action.sa_sigaction = run;
  CHECK(sigaction(number, &action, &old) == 0);
  struct sigaction now;
  CHECK(sigaction(number, NULL, &now) == 0 && now.sa_sigaction == run);
}

// The interval timers: they are off at first, count as set, and give the old value back.
static void on_timer(int number, siginfo_t *info, void *context) {
  (void)context;
  CHECK(info->si_signo == number && info->si_code == SI_KERNEL);
  work(100);
  counts[number] += 1;
}
static void interval_timer(int which, int number, double part) {
  struct itimerval set = {{0, 1500}, {0, 1500}}, off = {{0, 0}, {0, 0}}, old;
  CHECK(getitimer(which, &old) == 0 && old.it_value.tv_sec == 0 && old.it_value.tv_usec == 0 && old.it_interval.tv_usec == 0);
  handle(number, on_timer, 0);
  int had = counts[number];
  CHECK(setitimer(which, &set, NULL) == 0);
  double end = section(part);
  while (before(end) || counts[number] < had + 3) work_once();
  CHECK(setitimer(which, &off, &old) == 0 && old.it_interval.tv_usec / 1000 == 1);
}
static void on_posix_timer(int number, siginfo_t *info, void *context) {
  (void)context;
  CHECK(info->si_code == SI_TIMER && info->si_value.sival_int == 4711);
  work(100);
  counts[number] += 1;
}
static void posix_timer(clockid_t clock, double part) {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2, .sigev_value.sival_int = 4711};
  struct itimerspec set = {in_ns(1500000), in_ns(1500000)};
  timer_t timer;
  handle(SIGUSR2, on_posix_timer, 0);
  CHECK(timer_create(clock, &event, &timer) == 0 && timer_settime(timer, 0, &set, NULL) == 0);
  int had = counts[SIGUSR2];
  double end = section(part);
  while (before(end) || counts[SIGUSR2] < had + 3) work_once();
  CHECK(timer_delete(timer) == 0);
}

// Faults: left by siglongjmp.
static sigjmp_buf back;
static void on_fault(int number, siginfo_t *info, void *context) {
  (void)context;
  CHECK(number == SIGSEGV && info->si_code == SEGV_MAPERR && info->si_addr == (void *)40);
  work(100);
  siglongjmp(back, 2);
}
NOINLINE static int touch(volatile int *p, int depth) {
  if (depth > 0) return touch(p, depth - 1) + 1;
  work_once();
  return *p;
}
static void faults(double part) {
  handle(SIGSEGV, on_fault, 0);
  for (double end = section(part); before(end);) {
    volatile long mark = 12345;
    int value = sigsetjmp(back, 1);
    if (value == 0) touch((volatile int *)(uintptr_t)40, 10);
    CHECK(value == 2 && mark == 12345);
  }
}

// Traps: the handler takes long, then moves the program counter behind the instruction.
static void step_over(void *context, int length) {
  ucontext_t *at = context;
  greg_t found = at->uc_mcontext.gregs[REG_RIP];
  work_ms(1.5);
  at->uc_mcontext.gregs[REG_RIP] = found + length;
}
static void on_illegal(int number, siginfo_t *info, void *context) {
  CHECK(number == SIGILL && info->si_addr != NULL);
  step_over(context, 2);
  counts[number] += 1;
}
static void on_trap(int number, siginfo_t *info, void *context) {
  (void)context;
  CHECK(number == SIGTRAP && info->si_code == SI_KERNEL);
  work_ms(1.5);
  counts[number] += 1;
}
NOINLINE static uint32_t trap_here(uint32_t x) {
  uint32_t a = work(12) ^ x;
  __asm__ volatile("int3" ::: "memory");
  a += x;
  __asm__ volatile("ud2" ::: "memory");
  return a ^ work(12);
}
static void traps(double part) {
  handle(SIGILL, on_illegal, 0);
  handle(SIGTRAP, on_trap, 0);
  const uint32_t expected = ((work(12) ^ 9) + 9) ^ work(12);
  for (double end = section(part); before(end);) {
    int had = counts[SIGILL] + counts[SIGTRAP];
    CHECK(trap_here(9) == expected);
    CHECK(counts[SIGILL] + counts[SIGTRAP] == had + 2);
  }
}

// Handlers in handlers, each longer than an epoch.
static void on_nested(int number, siginfo_t *info, void *context) {
  (void)context;
  CHECK(info->si_code == SI_TKILL && info->si_pid == getpid());
  volatile int level = number - SIGRTMIN;
  work_ms(1.2);
  if (level < 5) raise(number + 1);
  work_ms(1.2);
  CHECK(level == number - SIGRTMIN);
  counts[number] += 1;
}
static void handlers_in_handlers(double part) {
  for (int i = 0; i <= 5; ++i) handle(SIGRTMIN + i, on_nested, 0);
  int rounds = 0;
  for (double end = section(part); before(end); ++rounds) raise(SIGRTMIN);
  for (int i = 0; i <= 5; ++i) CHECK(counts[SIGRTMIN + i] == rounds);
}

// Threads that signal each other.
static pthread_t players[3];
static int received[3], sent[3];
static double play_end;
static pthread_barrier_t begin, close_down;
static __thread int me;
static void on_ping(int number, siginfo_t *info, void *context) {
  (void)context;
  CHECK(number == SIGUSR1 && info->si_code == SI_TKILL && info->si_pid == getpid());
  work(200);
  __atomic_add_fetch(&received[me], 1, __ATOMIC_RELEASE);
}
static void *play(void *number) {
  me = (int)(intptr_t)number;
  const int other = (me + 1) % 3;
  pthread_barrier_wait(&begin);
  // Three threads on two cores: one may come to run when the time is over.
  while (before(play_end) || sent[other] == 0) {
    work_once();
    if (__atomic_load_n(&received[other], __ATOMIC_ACQUIRE) < sent[other]) continue;
    sent[other] += 1;
    CHECK(pthread_kill(players[other], SIGUSR1) == 0);
  }
  pthread_barrier_wait(&close_down);
  return NULL;
}
static void between_threads(double part) {
  handle(SIGUSR1, on_ping, 0);
  pthread_barrier_init(&begin, NULL, 4);
  pthread_barrier_init(&close_down, NULL, 3);
  for (intptr_t i = 0; i < 3; ++i) players[i] = start_thread(play, (void *)i);
  play_end = section(part);
  pthread_barrier_wait(&begin);
  for (int i = 0; i < 3; ++i) join_thread(players[i]);
  for (int i = 0; i < 3; ++i) CHECK(received[i] == sent[i] && sent[i] > 0);
}

// Nobody handles anything yet. A runtime that writes reports says that it handles the signals of crashes; nothing else.
static int of_crashes(int n) { return n == SIGSEGV || n == SIGBUS || n == SIGILL || n == SIGFPE || n == SIGABRT; }
static void untouched(void) {
  struct sigaction now;
  for (int i = 1; i <= SIGRTMAX; ++i)
    if (i != 32 && i != 33 && !of_crashes(i)) CHECK(sigaction(i, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
  sigset_t mask;
  CHECK(sigprocmask(SIG_BLOCK, NULL, &mask) == 0);
  for (int i = 1; i <= SIGRTMAX; ++i) CHECK(sigismember(&mask, i) == 0);
}

int main(void) {
  untouched();
  interval_timer(ITIMER_REAL, SIGALRM, 0.1);
  interval_timer(ITIMER_VIRTUAL, SIGVTALRM, 0.1);
  interval_timer(ITIMER_PROF, SIGPROF, 0.1);
  posix_timer(CLOCK_MONOTONIC, 0.1);
  posix_timer(CLOCK_PROCESS_CPUTIME_ID, 0.1);
  faults(0.1);
  traps(0.1);
  handlers_in_handlers(0.15);
  between_threads(0.15);
  puts("every signal was the program's own");
  return 0;
}
