// SPDX-License-Identifier: MIT
// Interposes calls that begin threads, and calls that wait for the end of threads and processes.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <threads.h>

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
