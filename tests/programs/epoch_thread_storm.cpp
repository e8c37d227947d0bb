// SPDX-License-Identifier: MIT
// Threads that begin and end all the time while functions move: joined, detached, on the smallest stacks, in chains, left by
// pthread_exit through destructors, with thread-local objects; at last the main thread ends before the others.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <climits>
#include <pthread.h>

static int ended, destroyed;
static void count(int* what) { __atomic_add_fetch(what, 1, __ATOMIC_RELEASE); }
static int counted(int* what) { return __atomic_load_n(what, __ATOMIC_ACQUIRE); }

struct Local {
  ~Local() { work(100); count(&destroyed); }
  volatile int used = 0;
};
static thread_local Local local;

static void* short_one(void* rounds) {
  local.used = 1;
  work((int)(intptr_t)rounds);
  count(&ended);
  return rounds;
}
static pthread_t start_with(void* (*run)(void*), void* argument, bool detached, size_t stack) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  if (detached) pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack) CHECK(pthread_attr_setstacksize(&attributes, stack) == 0);
  CHECK(pthread_create(&thread, &attributes, run, argument) == 0);
  pthread_attr_destroy(&attributes);
  return thread;
}

static void joined(size_t stack) {
  pthread_t threads[8];
  for (intptr_t i = 0; i < 8; ++i) threads[i] = start_with(short_one, (void*)(i * 50), false, stack);
  work_once();
  for (intptr_t i = 0; i < 8; ++i) CHECK(join_thread(threads[i]) == (void*)(i * 50));
}
static void detached() {
  const int had = counted(&ended);
  for (intptr_t i = 0; i < 8; ++i) start_with(short_one, (void*)(i * 50), true, 0);
  while (counted(&ended) < had + 8) sched_yield();
}

struct OnLeave {
  ~OnLeave() { work(30); count(where); }
  int* where;
};
[[gnu::noinline]] static void leave_below(int depth, int* left) {
  OnLeave here{left};
  if (depth == 0) pthread_exit((void*)(intptr_t)77);
  leave_below(depth - 1, left);
  work(3);
}
static void* leaver(void* left) {
  local.used = 1;
  leave_below(30, (int*)left);
  return nullptr;
}
static void left_from_below() {
  int left = 0;
  pthread_t thread = start_thread(leaver, &left);
  CHECK(join_thread(thread) == (void*)77);
  CHECK(left == 31);
}

static void* chain(void* length) {
  local.used = 1;
  work(20);
  if (intptr_t n = (intptr_t)length) return (char*)join_thread(start_thread(chain, (void*)(n - 1))) + 1;
  return nullptr;
}

static void* last_words(void*) {
  work_ms(whole_ms() / 10);
  puts("threads came and went");
  exit(0);
}

int main() {
  int stop = 0;
  pthread_t burner = start_thread(burn, &stop);
  long chains = 0, leavers = 0;
  for (double end = section(0.9); before(end);) {
    joined(0);
    joined((size_t)PTHREAD_STACK_MIN + 8192);
    detached();
    left_from_below(), ++leavers;
    CHECK(join_thread(start_thread(chain, (void*)9)) == (void*)9), ++chains;
  }
  end_burning(&stop, burner);
  while (counted(&destroyed) < counted(&ended) + leavers + 10 * chains) sched_yield();
  start_with(last_words, nullptr, true, 0);
  pthread_exit(nullptr);
}
