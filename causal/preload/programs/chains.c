/* SPDX-License-Identifier: MIT
 * A chain: the process's first thread waits, in turns, for another thread, which works. The work
 * begins only when the first thread waits, because that would have to pay what accrues before. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "causal/preload/programs/work.h"

enum { rounds = 20 };

/* Returns the state of a process's first thread from a line like "7 (name) S ...". S: it sleeps. */
static char state_of(pid_t process) {
  char line[128] = "";
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0 || read(file, line, sizeof line - 1) <= 0) abort();
  close(file);
  const char* name_end = strrchr(line, ')');
  if (name_end == NULL) abort();
  return name_end[2];
}
static void await_sleep_of(pid_t process) {
  while (state_of(process) != 'S') sched_yield();
}
void await_sleep_of_first(void) {
  await_sleep_of(getpid());
}

/* Chains by an event: the first thread waits until the other has caused it. Every event is counted:
 * a thread that pauses sleeps, too, so the next event may come before its wait for the last. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static mtx_t c11_mutex;
static cnd_t c11_condition;
static pthread_t first;
static int caused;
static int events;

static void signal_condition(void) {
  pthread_mutex_lock(&mutex);
  ++caused;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
}
static void wait_for_condition(int i) {
  pthread_mutex_lock(&mutex);
  while (caused <= i) pthread_cond_wait(&condition, &mutex);
  pthread_mutex_unlock(&mutex);
}
/* Each wait ends because its time is over, so it gets no credit. */
static void wait_for_condition_in_vain(int i) {
  pthread_mutex_lock(&mutex);
  while (caused <= i) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 2000000;
    if (until.tv_nsec >= 1000000000) {
      until.tv_nsec -= 1000000000;
      ++until.tv_sec;
    }
    pthread_cond_timedwait(&condition, &mutex, &until);
  }
  pthread_mutex_unlock(&mutex);
}
static void signal_c11(void) {
  mtx_lock(&c11_mutex);
  ++caused;
  cnd_broadcast(&c11_condition);
  mtx_unlock(&c11_mutex);
}
static void wait_for_c11(int i) {
  mtx_lock(&c11_mutex);
  while (caused <= i) cnd_wait(&c11_condition, &c11_mutex);
  mtx_unlock(&c11_mutex);
}
static void post_semaphore(void) {
  sem_post(&semaphore);
}
static void wait_for_semaphore(int i) {
  (void)i;
  while (sem_wait(&semaphore) != 0) {
  }
}
static void arrive(void) {
  pthread_barrier_wait(&barrier);
}
static void wait_at_barrier(int i) {
  (void)i;
  pthread_barrier_wait(&barrier);
}
static void wake_futex(void) {
  __atomic_add_fetch(&caused, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &caused, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
static void wait_for_futex(int i) {
  while (__atomic_load_n(&caused, __ATOMIC_SEQ_CST) <= i)
    syscall(SYS_futex, &caused, FUTEX_WAIT_PRIVATE, i, NULL, NULL, 0);
}
static void kill_first(void) {
  pthread_kill(first, SIGRTMIN);
}
static void wait_for_signal(int i) {
  (void)i;
  sigset_t awaited;
  int number = 0;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGRTMIN);
  while (sigwait(&awaited, &number) != 0) {
  }
}
/* A wait for a descriptor is one for something outside. */
static void add_event(void) {
  eventfd_write(events, 1);
}
static void wait_for_event(int i) {
  (void)i;
  eventfd_t value = 0;
  while (eventfd_read(events, &value) != 0) {
  }
}

static const struct event {
  const char* name;
  void (*cause)(void);
  void (*wait)(int);
} all_events[] = {
    {"condition", signal_condition, wait_for_condition},
    {"in vain", signal_condition, wait_for_condition_in_vain},
    {"c11", signal_c11, wait_for_c11},
    {"semaphore", post_semaphore, wait_for_semaphore},
    {"barrier", arrive, wait_at_barrier},
    {"futex", wake_futex, wait_for_futex},
    {"signal", kill_first, wait_for_signal},
    {"eventfd", add_event, wait_for_event},
};

static void* cause_events(void* given) {
  const struct event* event = given;
  for (int i = 0; i < rounds; ++i) {
    await_sleep_of_first();
    hot(10);
    event->cause();
  }
  return NULL;
}

/* Chains by a lock: the first thread waits until the other gives it back. */
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int is_held;
static int is_at_lock;

static const struct timespec* in_an_hour(clockid_t clock) {
  static struct timespec until;
  clock_gettime(clock, &until);
  until.tv_sec += 3600;
  return &until;
}
static void lock_mutex(void) {
  pthread_mutex_lock(&mutex);
}
static void unlock_mutex(void) {
  pthread_mutex_unlock(&mutex);
}
static void write_lock(void) {
  pthread_rwlock_wrlock(&rwlock);
}
static void write_lock_by_clock(void) {
  pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, in_an_hour(CLOCK_MONOTONIC));
}
static void read_lock_by_clock(void) {
  pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, in_an_hour(CLOCK_MONOTONIC));
}
static void unlock_rwlock(void) {
  pthread_rwlock_unlock(&rwlock);
}

static const struct lock {
  const char* name;
  void (*lock)(void);  // by the other thread
  void (*wait)(void);  // by the first
  void (*unlock)(void);
} all_locks[] = {
    {"mutex", lock_mutex, lock_mutex, unlock_mutex},
    {"rwlock", write_lock, write_lock, unlock_rwlock},
    {"rwlock by a clock", write_lock, write_lock_by_clock, unlock_rwlock},
    {"reading by a clock", write_lock, read_lock_by_clock, unlock_rwlock},
};

static void* hold_lock(void* given) {
  const struct lock* lock = given;
  for (int i = 0; i < rounds; ++i) {
    lock->lock();
    __atomic_store_n(&is_held, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&is_at_lock, __ATOMIC_SEQ_CST)) sched_yield();
    await_sleep_of_first();
    hot(10);
    lock->unlock();
    while (__atomic_load_n(&is_held, __ATOMIC_SEQ_CST) > 0) sched_yield();
  }
  __atomic_store_n(&is_held, -1, __ATOMIC_SEQ_CST);
  return NULL;
}
static void wait_at_lock(const struct lock* lock) {
  for (int now = 0; (now = __atomic_load_n(&is_held, __ATOMIC_SEQ_CST)) >= 0;) {
    if (now == 0) {
      sched_yield();
      continue;
    }
    __atomic_store_n(&is_at_lock, 1, __ATOMIC_SEQ_CST);
    lock->wait();
    __atomic_store_n(&is_at_lock, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&is_held, 0, __ATOMIC_SEQ_CST);
    lock->unlock();
  }
}

/* Waits for the end of a child, each time by another call. */
static void wait_for_children(void) {
  for (int i = 0; i < rounds; ++i) {
    const pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
      await_sleep_of(getppid());
      hot(10);
      _exit(0);
    }
    struct rusage usage;
    siginfo_t info;
    if (i % 5 == 0) wait(NULL);
    if (i % 5 == 1) waitpid(child, NULL, 0);
    if (i % 5 == 2) wait3(NULL, 0, &usage);
    if (i % 5 == 3) wait4(child, NULL, 0, &usage);
    if (i % 5 == 4) waitid(P_PID, (id_t)child, &info, WEXITED);
  }
}

static const struct event* event_of(const char* means) {
  for (size_t i = 0; i < sizeof all_events / sizeof all_events[0]; ++i)
    if (strcmp(all_events[i].name, means) == 0) return &all_events[i];
  return NULL;
}
static const struct lock* lock_of(const char* means) {
  for (size_t i = 0; i < sizeof all_locks / sizeof all_locks[0]; ++i)
    if (strcmp(all_locks[i].name, means) == 0) return &all_locks[i];
  return NULL;
}

int has_chain(const char* means) {
  return event_of(means) != NULL || lock_of(means) != NULL || strcmp(means, "children") == 0;
}

void chain(const char* means) {
  const struct event* event = event_of(means);
  const struct lock* lock = lock_of(means);
  if (event == NULL && lock == NULL) return wait_for_children();
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGRTMIN);
  pthread_sigmask(SIG_BLOCK, &awaited, NULL);
  first = pthread_self();
  events = eventfd(0, EFD_SEMAPHORE);
  pthread_barrier_init(&barrier, NULL, 2);
  sem_init(&semaphore, 0, 0);
  mtx_init(&c11_mutex, mtx_plain);
  cnd_init(&c11_condition);
  pthread_t other;
  if (pthread_create(&other, NULL, event == NULL ? hold_lock : cause_events,
                     event == NULL ? (void*)lock : (void*)event) != 0)
    abort();
  if (lock != NULL) wait_at_lock(lock);
  for (int i = 0; event != NULL && i < rounds; ++i) event->wait(i);
  pthread_join(other, NULL);
}
