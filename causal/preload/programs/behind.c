// SPDX-License-Identifier: MIT
// Preloaded behind the library, this counts the calls that get as far as libc, and prints the
// counts at the end of the program.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

#define STAND_BEFORE(name, parameters, arguments)                 \
  static atomic_long name##_count;                                \
  int name parameters {                                           \
    static int(*_Atomic next) parameters;                         \
    if (!next) next = (int(*) parameters)dlsym(RTLD_NEXT, #name); \
    ++name##_count;                                               \
    return next arguments;                                        \
  }
#include "causal/preload/programs/layers.inc"
#undef STAND_BEFORE

__attribute__((destructor)) static void say(void) {
#define STAND_BEFORE(name, parameters, arguments) \
  printf("libc: %s %ld\n", #name, (long)name##_count);
#include "causal/preload/programs/layers.inc"
}
