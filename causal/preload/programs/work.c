/* SPDX-License-Identifier: MIT
 * The program that the tests of libstabcausal.so profile. It does the pieces of work that its
 * arguments name, one after the other. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/seccomp.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "causal/preload/programs/work.h"
#include "runtime/stabilizer.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

uint64_t thread_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static volatile uint64_t sink;

/* Each function burns this much CPU time of its thread. The loop between two looks at the clock is
 * long, so that the function itself uses nearly all of the time. */
#define BURN(name)                                               \
  __attribute__((noinline)) void name(uint64_t ms) {             \
    const uint64_t end = thread_ns() + ms * 1000000u;            \
    while (thread_ns() < end)                                    \
      for (volatile uint64_t i = 0; i < 20000; ++i) sink += i;   \
  }
BURN(hot)
BURN(cold)

static int compare(const void* a, const void* b) {
  return memcmp(a, b, 8);
}
/* Spends nearly all of its time in libc. */
__attribute__((noinline)) void sorts(uint64_t ms) {
  static char numbers[80000];
  const uint64_t end = thread_ns() + ms * 1000000u;
  while (thread_ns() < end) {
    for (size_t i = 0; i < sizeof numbers; ++i) numbers[i] = (char)(i * 7919);
    qsort(numbers, sizeof numbers / 8, 8, compare);
  }
}

static void* run_hot(void* ms) {
  hot((uint64_t)ms);
  return NULL;
}
static void* run_cold(void* ms) {
  cold((uint64_t)ms);
  return NULL;
}
static void* run_nothing(void* unused) {
  return unused;
}
static void* exit_thread(void* ms) {
  hot((uint64_t)ms);
  pthread_exit(NULL);
}

static void in_thread(void* (*run)(void*), uint64_t ms) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, (void*)ms) != 0) abort();
  pthread_join(thread, NULL);
}

static void two_threads(void) {
  pthread_t a;
  pthread_t b;
  if (pthread_create(&a, NULL, run_hot, (void*)400) != 0) abort();
  if (pthread_create(&b, NULL, run_cold, (void*)300) != 0) abort();
  pthread_join(a, NULL);
  pthread_join(b, NULL);
}

static void many_threads(int count) {
  pthread_t* threads = calloc((size_t)count, sizeof *threads);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  for (int i = 0; i < count; ++i)
    if (pthread_create(&threads[i], &attributes, i % 50 == 0 ? exit_thread : run_nothing,
                       (void*)3) != 0)
      abort();
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  free(threads);
}

/* Makes `count` threads that all exist while the first one works. */
static sem_t gate;
static void* wait_at_gate(void* unused) {
  while (sem_wait(&gate) != 0) {
  }
  return unused;
}
static void crowd(int count) {
  pthread_t* threads = calloc((size_t)count, sizeof *threads);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  sem_init(&gate, 0, 0);
  for (int i = 0; i < count; ++i)
    if (pthread_create(&threads[i], &attributes, wait_at_gate, NULL) != 0) abort();
  hot(50);
  for (int i = 0; i < count; ++i) sem_post(&gate);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  free(threads);
}

static void* run_hot_for_first(void* ms) {
  await_sleep_of_first();
  return run_hot(ms);
}

static sem_t semaphore;
enum { rounds = 20 };

/* A waiter with an alternate stack above its own stack, because it lies on main's. */
static void call_what_pays(int signal) {
  (void)signal;
  const ssize_t written = write(-1, "", 1);
  (void)written;
}
static void* wait_below(void* alternate) {
  const stack_t stack = {.ss_sp = alternate, .ss_size = 65536};
  if (sigaltstack(&stack, NULL) != 0) abort();
  for (int i = 0; i < rounds; ++i)
    while (sem_wait(&semaphore) != 0) {
    }
  return NULL;
}
static void wait_with_handler_above(void) {
  char alternate[65536];
  pthread_t waiter;
  const struct sigaction action = {.sa_handler = call_what_pays, .sa_flags = SA_ONSTACK | SA_RESTART};
  sem_init(&semaphore, 0, 0);
  if (sigaction(SIGUSR1, &action, NULL) != 0) abort();
  if (pthread_create(&waiter, NULL, wait_below, alternate) != 0) abort();
  for (int i = 0; i < rounds; ++i) {
    hot(10);
    pthread_kill(waiter, SIGUSR1);
    hot(10);
    sem_post(&semaphore);
  }
  pthread_join(waiter, NULL);
}

/* Uses an alternate stack that is no larger than handlers need, next to memory without access. */
static void burn_above(int signal) {
  sigset_t blocked;
  if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0 || sigismember(&blocked, SIGSTKFLT)) _exit(8);
  if (signal == SIGUSR1) hot(30);
}
static void use_alternate(size_t size) {
  const size_t page = 4096, all = (size + page - 1) / page * page;
  char* memory = mmap(NULL, all + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) abort();
  const stack_t stack = {.ss_sp = memory + page, .ss_size = size};
  struct sigaction action = {.sa_handler = burn_above, .sa_flags = SA_ONSTACK};
  if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0) abort();
  if (sigaction(SIGUSR1, NULL, &action) != 0 || sigismember(&action.sa_mask, SIGSTKFLT)) abort();
  for (int i = 0; i < 4; ++i) {
    raise(SIGUSR1);
    sorts(30);
  }
}

static void fork_child(uint64_t ms) {
  const pid_t child = fork();
  if (child == 0) {
    hot(ms);
    in_thread(run_hot, ms);
    _exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) abort();
}

static void* fork_in_thread(void* ms) {
  fork_child((uint64_t)ms);
  return NULL;
}

static void block_all(void) {
  sigset_t all;
  sigset_t now;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  for (int i = 1; i <= 64; ++i) signal(i, SIG_DFL);
  pthread_sigmask(SIG_SETMASK, NULL, &now);
  int blocked = 0;
  for (int i = 1; i <= 64; ++i) blocked += sigismember(&now, i) == 1;
  printf("blocked as without: %d\n", blocked);
}

/* Each way to set a handler reads back what was set before. */
sighandler_t bsd_signal(int, sighandler_t);
static void all_ways(void) {
  sighandler_t (*const ways[])(int, sighandler_t) = {signal, __sysv_signal, sysv_signal,
                                                     bsd_signal, ssignal, sigset};
  int as_set = 0;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    ways[i](SIGSTKFLT, SIG_IGN);
    as_set += ways[i](SIGSTKFLT, SIG_DFL) == SIG_IGN;
  }
  sigignore(SIGSTKFLT);
  as_set += signal(SIGSTKFLT, SIG_DFL) == SIG_IGN;
  sigset(SIGSTKFLT, SIG_HOLD);
  as_set += sigset(SIGSTKFLT, SIG_DFL) == SIG_HOLD;
  printf("as set: %d\n", as_set);
}

static void own_timer(void) {
  static volatile int ticks;
  struct sigaction action = {.sa_handler = (void (*)(int))run_nothing};
  sigaction(SIGPROF, &action, NULL);
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
  struct itimerspec often = {{0, 2000000}, {0, 2000000}};
  timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer);
  timer_settime(timer, 0, &often, NULL);
  hot(100);
  timer_delete(timer);
  (void)ticks;
}

/* If the program has no handler, its wait ends when the time is over; a sample does not end it. */
static void uninterrupted(void) {
  int failures = 0;
  for (int i = 0; i < 300; ++i) {
    const struct timespec little = {0, 100000};
    struct timespec rest;
    hot(1);
    if (nanosleep(&little, &rest) != 0 && errno == EINTR) ++failures;
  }
  printf("interrupted: %d\n", failures);
}

static void visit(int times) {
  for (int i = 0; i < times; ++i) STAB_PROGRESS("round");
}

static void visit_for(uint64_t ms) {
  for (uint64_t i = 0; i < ms; ++i) {
    hot(1);
    STAB_PROGRESS("round");
  }
}

static void arrive(int times) {
  for (int i = 0; i < times; ++i) {
    STAB_ARRIVAL("request");
    STAB_PROGRESS_BEGIN("request");
    STAB_PROGRESS_END("request");
  }
}

typedef size_t* (*get_counter)(int, const char*);
static size_t* early;

__attribute__((constructor)) static void look_early(void) {
  get_counter get = (get_counter)dlsym(RTLD_DEFAULT, "_coz_get_counter");
  if (get != NULL) early = get(1, "early");
  if (early != NULL) ++*early;
}

static void use_coz(void) {
  get_counter get = (get_counter)dlsym(RTLD_DEFAULT, "_coz_get_counter");
  if (get == NULL) {
    puts("no coz");
    return;
  }
  size_t* count = get(1, "early");
  if (count != NULL) ++*count;
  size_t* other = get(2, "early");
  printf("same: %d, other kind: %d\n", count == early, other != count);
}

static int taken;

/* It never finds its semaphore taken, so only a check for cancellation ends it. */
static void* take_and_give(void* unused) {
  for (;;) {
    while (sem_wait(&semaphore) != 0) {
    }
    __atomic_add_fetch(&taken, 1, __ATOMIC_SEQ_CST);
    sem_post(&semaphore);
  }
  return unused;
}
static void cancel_a_taker(void) {
  pthread_t taker;
  sem_init(&semaphore, 0, 1);
  if (pthread_create(&taker, NULL, take_and_give, NULL) != 0) abort();
  while (__atomic_load_n(&taken, __ATOMIC_SEQ_CST) < 100) sched_yield();
  pthread_cancel(taker);
  pthread_join(taker, NULL);
}

/* A child that no fork handler knows enters a sandbox. */
static void shut_clone(void) {
  const long child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) {
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    syscall(SYS_exit, 3);
  }
  int status = 0;
  waitpid((pid_t)child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) abort();
}

/* Only read, write, exit and sigreturn are allowed after this. */
static void shut(void) {
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  for (volatile uint64_t i = 0; i < 50000000; ++i) sink += i;
  const char text[] = "shut\n";
  if (write(1, text, sizeof text - 1) < 0) abort();
  syscall(SYS_exit, 5);
}

static int run(const char* what, char** self) {
  if (strcmp(what, "hot") == 0) hot(300);
  else if (strcmp(what, "cold") == 0) cold(100);
  else if (strcmp(what, "sorts") == 0) sorts(200);
  else if (strcmp(what, "two") == 0) two_threads();
  else if (strcmp(what, "thread") == 0) in_thread(run_hot_for_first, 100);
  else if (strcmp(what, "exiting") == 0) in_thread(exit_thread, 100);
  else if (strcmp(what, "many") == 0) many_threads(500);
  else if (strcmp(what, "crowd") == 0) crowd(2000);
  else if (has_chain(what)) chain(what);
  else if (strcmp(what, "above") == 0) wait_with_handler_above();
  else if (strcmp(what, "tight") == 0) use_alternate(getauxval(AT_MINSIGSTKSZ) + 3584);
  else if (strcmp(what, "usual") == 0) use_alternate(getauxval(AT_MINSIGSTKSZ) + 4096);
  else if (strcmp(what, "fork") == 0) fork_child(100);
  else if (strcmp(what, "forks") == 0) in_thread(fork_in_thread, 100);
  else if (strcmp(what, "block") == 0) block_all();
  else if (strcmp(what, "ways") == 0) all_ways();
  else if (strcmp(what, "timer") == 0) own_timer();
  else if (strcmp(what, "waits") == 0) uninterrupted();
  else if (strcmp(what, "visit") == 0) visit(7);
  else if (strcmp(what, "rounds") == 0) visit_for(600);
  else if (strcmp(what, "arrive") == 0) arrive(10);
  else if (strcmp(what, "coz") == 0) use_coz();
  else if (strcmp(what, "exec") == 0) execl(self[0], self[0], "hot", (char*)NULL);
  else if (strcmp(what, "noexec") == 0) execl("/nowhere", "/nowhere", (char*)NULL);
  else if (strcmp(what, "exit") == 0) exit(42);
  else if (strcmp(what, "cancel") == 0) cancel_a_taker();
  else if (strcmp(what, "shutclone") == 0) shut_clone();
  else if (strcmp(what, "shut") == 0) shut();
  else if (strcmp(what, "crash") == 0) raise(SIGSEGV);
  else return 0;
  return 1;
}

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i)
    if (!run(arguments[i], arguments)) return 99;
  puts("done");
  return 7;
}
