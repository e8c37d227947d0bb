// SPDX-License-Identifier: MIT
// Calls several functions TIMES times each, and passes as many progress points. With OWN, the
// program itself stands before these functions, as programs do that trace their locks. It prints
// its counts, and which files the functions come from.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

#include "runtime/stabilizer.h"

#ifdef OWN
#define STAND_BEFORE(name, parameters, arguments)                 \
  static atomic_long name##_count;                                \
  int name parameters {                                           \
    static int(*_Atomic next) parameters;                         \
    if (!next) next = (int(*) parameters)dlsym(RTLD_NEXT, #name); \
    ++name##_count;                                               \
    return next arguments;                                        \
  }
#include "causal/preload/programs/layers.inc"
// The program does not call these.
#define ATTEMPTS                                                  \
  STAND_BEFORE(pthread_mutex_trylock, (pthread_mutex_t * a), (a)) \
  STAND_BEFORE(sem_trywait, (sem_t * a), (a))
ATTEMPTS
#undef STAND_BEFORE
#endif

static void* nothing(void* argument) {
  STAB_PROGRESS("thread");
  return argument;
}
static int nothing_c11(void* argument) {
  (void)argument;
  STAB_PROGRESS("thread");
  return 0;
}

static void call_each(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  static sem_t count;
  const struct timespec moment = {0, 1};
  pthread_t thread;
  thrd_t c11;
  pthread_mutex_lock(&lock);
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  sem_post(&count);
  sem_wait(&count);
  nanosleep(&moment, NULL);
  pthread_create(&thread, NULL, nothing, NULL);
  pthread_join(thread, NULL);
  thrd_create(&c11, nothing_c11, NULL);
  thrd_join(c11, NULL);
  STAB_PROGRESS("call");
}

// Returns the file that defines the function: the first of all files, or the first one behind the
// program.
static const char* owner(void* where, const char* name) {
  Dl_info info;
  if (!dladdr(dlsym(where, name), &info)) return "none";
  const char* slash = strrchr(info.dli_fname, '/');
  return slash ? slash + 1 : info.dli_fname;
}

int main(int count, char** words) {
  const long times = count > 1 ? atol(words[1]) : 0;
  for (long i = 0; i < times; ++i) call_each();
#define STAND_BEFORE(name, parameters, arguments)              \
  printf("first: %s %s\n", #name, owner(RTLD_DEFAULT, #name)); \
  printf("next: %s %s\n", #name, owner(RTLD_NEXT, #name));
#include "causal/preload/programs/layers.inc"
#undef STAND_BEFORE
#ifdef OWN
#define STAND_BEFORE(name, parameters, arguments) \
  printf("program: %s %ld\n", #name, (long)name##_count);
#include "causal/preload/programs/layers.inc"
#undef STAND_BEFORE
#define STAND_BEFORE(name, parameters, arguments) \
  printf("uncalled: %s %ld\n", #name, (long)name##_count);
  ATTEMPTS
#endif
  return 0;
}
