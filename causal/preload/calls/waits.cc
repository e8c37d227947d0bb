// SPDX-License-Identifier: MIT
// Interposes calls by which threads begin, wake each other, and wait for each other or for
// processes.
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include "causal/preload/real.h"
#include "causal/preload/start.h"
#include "causal/preload/thread.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"

using namespace stab::causal;

namespace {

// The data of a new thread, which gives the place back before its own code runs.
struct Beginning {
  uint32_t is_taken;
  uint64_t paid_ns;
  void* argument;
  void* (*run)(void*);
  int (*run_c11)(void*);
};

constexpr uint32_t place_count = 1024;
Beginning places[place_count];
uint32_t next_place;

Beginning* take_place() {
  for (uint32_t i = 0; i < place_count; ++i) {
    Beginning& place = places[add(next_place, 1u) % place_count];
    if (__atomic_exchange_n(&place.is_taken, 1u, __ATOMIC_ACQUIRE) == 0) return &place;
  }
  // All places are taken because so many threads begin at once. This page is never freed.
  const long page = stab::os::map(0, stab::os::page_size, stab::os::read | stab::os::write);
  return stab::os::failed(page) ? nullptr : reinterpret_cast<Beginning*>(page);
}

Beginning take_over(void* at) {
  auto* place = static_cast<Beginning*>(at);
  const Beginning beginning = *place;
  __atomic_store_n(&place->is_taken, 0u, __ATOMIC_RELEASE);
  begin_thread(beginning.paid_ns);
  return beginning;
}

void* run_thread(void* at) {
  const Beginning beginning = take_over(at);
  void* result = beginning.run(beginning.argument);
  end_thread();
  return result;
}

int run_c11_thread(void* at) {
  const Beginning beginning = take_over(at);
  const int result = beginning.run_c11(beginning.argument);
  end_thread();
  return result;
}

// Returns null if the thread will not be counted. Otherwise it will owe what its creator owes.
Beginning* prepare(void* argument) {
  start_library();
  if (!is_counted()) return nullptr;
  settle();
  Beginning* place = take_place();
  if (place == nullptr) return nullptr;
  place->argument = argument;
  place->paid_ns = load(self.paid_ns);
  expect_thread();
  return place;
}

void take_back(Beginning& place) {
  __atomic_store_n(&place.is_taken, 0u, __ATOMIC_RELEASE);
  expect_no_thread();
}

}  // namespace

STAB_EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                               void* (*run)(void*), void* argument) {
  Beginning* place = prepare(argument);
  if (place == nullptr) return STAB_REAL(pthread_create)(thread, attributes, run, argument);
  place->run = run;
  const int result = STAB_REAL(pthread_create)(thread, attributes, run_thread, place);
  if (result != 0) take_back(*place);
  return result;
}

STAB_EXPORT int thrd_create(thrd_t* thread, thrd_start_t run, void* argument) {
  Beginning* place = prepare(argument);
  if (place == nullptr) return STAB_REAL(thrd_create)(thread, run, argument);
  place->run_c11 = run;
  const int result = STAB_REAL(thrd_create)(thread, run_c11_thread, place);
  if (result != thrd_success) take_back(*place);
  return result;
}

// A thread or process that ends by itself has paid before. If nothing ended, the wait gets no
// credit.
#define STAB_WAITS_FOR_END(type, name, parameters, arguments, has_ended) \
  STAB_EXPORT type name parameters {                                     \
    Wait waits;                                                          \
    const type result = STAB_REAL(name) arguments;                       \
    waits.end(has_ended);                                                \
    return result;                                                       \
  }

STAB_WAITS_FOR_END(int, pthread_join, (pthread_t thread, void** value), (thread, value),
                   result == 0)
STAB_WAITS_FOR_END(int, pthread_tryjoin_np, (pthread_t thread, void** value), (thread, value),
                   result == 0)
STAB_WAITS_FOR_END(int, pthread_timedjoin_np,
                   (pthread_t thread, void** value, const timespec* until), (thread, value, until),
                   result == 0)
STAB_WAITS_FOR_END(int, pthread_clockjoin_np,
                   (pthread_t thread, void** value, clockid_t clock, const timespec* until),
                   (thread, value, clock, until), result == 0)
STAB_WAITS_FOR_END(int, thrd_join, (thrd_t thread, int* value), (thread, value),
                   result == thrd_success)
STAB_WAITS_FOR_END(pid_t, wait, (int* status), (status), result > 0)
STAB_WAITS_FOR_END(pid_t, waitpid, (pid_t process, int* status, int options),
                   (process, status, options), result > 0)
STAB_WAITS_FOR_END(int, waitid, (idtype_t kind, id_t id, siginfo_t* info, int options),
                   (kind, id, info, options), result == 0)
STAB_WAITS_FOR_END(pid_t, wait3, (int* status, int options, rusage* usage),
                   (status, options, usage), result > 0)
STAB_WAITS_FOR_END(pid_t, wait4, (pid_t process, int* status, int options, rusage* usage),
                   (process, status, options, usage), result > 0)
STAB_WAITS_FOR_END(int, system, (const char* command), (command), result != -1)
STAB_WAITS_FOR_END(int, pclose, (FILE * pipe), (pipe), result != -1)

// Locks, and the other calls by which threads wake each other:

#define STAB_WAKES(name, parameters, arguments) \
  STAB_EXPORT int name parameters {             \
    before_wake();                              \
    return STAB_REAL(name) arguments;           \
  }

STAB_WAKES(pthread_mutex_unlock, (pthread_mutex_t * mutex), (mutex))
STAB_WAKES(pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock))
STAB_WAKES(pthread_cond_signal, (pthread_cond_t * condition), (condition))
STAB_WAKES(pthread_cond_broadcast, (pthread_cond_t * condition), (condition))
STAB_WAKES(sem_post, (sem_t * semaphore), (semaphore))
STAB_WAKES(pthread_kill, (pthread_t thread, int signal), (thread, signal))
STAB_WAKES(pthread_sigqueue, (pthread_t thread, int signal, const sigval value),
           (thread, signal, value))
STAB_WAKES(pthread_cancel, (pthread_t thread), (thread))
STAB_WAKES(tgkill, (pid_t process, pid_t thread, int signal), (process, thread, signal))
STAB_WAKES(killpg, (pid_t group, int signal), (group, signal))
STAB_WAKES(kill, (pid_t process, int signal), (process, signal))
STAB_WAKES(sigqueue, (pid_t process, int signal, const sigval value), (process, signal, value))
STAB_WAKES(mtx_unlock, (mtx_t * mutex), (mutex))
STAB_WAKES(cnd_signal, (cnd_t * condition), (condition))
STAB_WAKES(cnd_broadcast, (cnd_t * condition), (condition))

// A thread that need not wait gets no credit: `attempt` comes first, and the call waits only if
// that fails.
#define STAB_LOCKS(name, parameters, arguments, attempt, lock)                           \
  STAB_EXPORT int name parameters {                                                      \
    if (!is_counted()) return STAB_REAL(name) arguments;                                 \
    if (auto* take = STAB_ATTEMPT(name, attempt); take != nullptr) {                     \
      if (const int taken = take(lock); taken == 0 || taken == EOWNERDEAD) return taken; \
    }                                                                                    \
    Wait waits;                                                                          \
    const int result = STAB_REAL(name) arguments;                                        \
    waits.end(result == 0 || result == EOWNERDEAD);                                      \
    return result;                                                                       \
  }

static_assert(thrd_success == 0 && thrd_busy != EOWNERDEAD && thrd_error != EOWNERDEAD);
STAB_LOCKS(pthread_mutex_lock, (pthread_mutex_t * mutex), (mutex), pthread_mutex_trylock, mutex)
STAB_LOCKS(pthread_mutex_timedlock, (pthread_mutex_t * mutex, const timespec* until),
           (mutex, until), pthread_mutex_trylock, mutex)
STAB_LOCKS(pthread_mutex_clocklock,
           (pthread_mutex_t * mutex, clockid_t clock, const timespec* until), (mutex, clock, until),
           pthread_mutex_trylock, mutex)
STAB_LOCKS(pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock), pthread_rwlock_tryrdlock, lock)
STAB_LOCKS(pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock), pthread_rwlock_trywrlock, lock)
STAB_LOCKS(pthread_rwlock_timedrdlock, (pthread_rwlock_t * lock, const timespec* until),
           (lock, until), pthread_rwlock_tryrdlock, lock)
STAB_LOCKS(pthread_rwlock_timedwrlock, (pthread_rwlock_t * lock, const timespec* until),
           (lock, until), pthread_rwlock_trywrlock, lock)
STAB_LOCKS(pthread_rwlock_clockrdlock,
           (pthread_rwlock_t * lock, clockid_t clock, const timespec* until), (lock, clock, until),
           pthread_rwlock_tryrdlock, lock)
STAB_LOCKS(pthread_rwlock_clockwrlock,
           (pthread_rwlock_t * lock, clockid_t clock, const timespec* until), (lock, clock, until),
           pthread_rwlock_trywrlock, lock)
STAB_LOCKS(mtx_lock, (mtx_t * mutex), (mutex), mtx_trylock, mutex)
STAB_LOCKS(mtx_timedlock, (mtx_t * mutex, const timespec* until), (mutex, until), mtx_trylock,
           mutex)

// If the wait ended because its time was over, nobody woke the thread.
#define STAB_WAITS(name, parameters, arguments, is_woken) \
  STAB_EXPORT int name parameters {                       \
    Wait waits;                                           \
    const int result = STAB_REAL(name) arguments;         \
    waits.end(is_woken);                                  \
    return result;                                        \
  }

STAB_WAITS(pthread_cond_wait, (pthread_cond_t * condition, pthread_mutex_t* mutex),
           (condition, mutex), true)
STAB_WAITS(pthread_cond_timedwait,
           (pthread_cond_t * condition, pthread_mutex_t* mutex, const timespec* until),
           (condition, mutex, until), result == 0)
STAB_WAITS(pthread_cond_clockwait,
           (pthread_cond_t * condition, pthread_mutex_t* mutex, clockid_t clock,
            const timespec* until),
           (condition, mutex, clock, until), result == 0)
STAB_WAITS(pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier), true)
STAB_WAITS(cnd_wait, (cnd_t * condition, mtx_t* mutex), (condition, mutex), true)
STAB_WAITS(cnd_timedwait, (cnd_t * condition, mtx_t* mutex, const timespec* until),
           (condition, mutex, until), result == thrd_success)

namespace {

// Returns whether it took the semaphore, and leaves errno as it was. A thread that is cancelled
// ends here, even if the semaphore is free.
bool takes(decltype(&sem_trywait) take, sem_t* semaphore) {
  pthread_testcancel();
  const int before = errno;
  const bool has_taken = is_counted() && take != nullptr && take(semaphore) == 0;
  errno = before;
  return has_taken;
}

bool is_time(const timespec* until) {
  return until->tv_nsec >= 0 && until->tv_nsec < 1000000000;
}

bool waits_on_futex(long number, long operation) {
  const long command = operation & FUTEX_CMD_MASK;
  return number == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET ||
                                 command == FUTEX_LOCK_PI || command == FUTEX_WAIT_REQUEUE_PI);
}

long call_with(long number, const long* a) {
  return STAB_REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // namespace

STAB_EXPORT int sem_wait(sem_t* semaphore) {
  if (takes(STAB_ATTEMPT(sem_wait, sem_trywait), semaphore)) return 0;
  Wait waits;
  const int result = STAB_REAL(sem_wait)(semaphore);
  waits.end(result == 0);
  return result;
}

STAB_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* until) {
  if (is_time(until) && takes(STAB_ATTEMPT(sem_timedwait, sem_trywait), semaphore)) return 0;
  Wait waits;
  const int result = STAB_REAL(sem_timedwait)(semaphore, until);
  waits.end(result == 0);
  return result;
}

STAB_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  if (is_time(until) && (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) &&
      takes(STAB_ATTEMPT(sem_clockwait, sem_trywait), semaphore))
    return 0;
  Wait waits;
  const int result = STAB_REAL(sem_clockwait)(semaphore, clock, until);
  waits.end(result == 0);
  return result;
}

// Rust's locks and the atomic waits of libstdc++ use raw futexes. A system call takes six
// arguments at most, and ignores any that it does not have.
STAB_EXPORT long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& argument : a) argument = va_arg(list, long);
  va_end(list);
  if (waits_on_futex(number, a[1])) {
    Wait waits;
    const long result = call_with(number, a);
    waits.end(result >= 0);
    return result;
  }
  if (number == SYS_futex) before_wake();
  const bool leaves = number == SYS_execve || number == SYS_execveat;
  if (number == SYS_seccomp) leave_session();
  if (number == SYS_exit_group) end_process();
  if (leaves) leave_program();
  const long result = call_with(number, a);
  if (leaves) resume_program();
  return result;
}
