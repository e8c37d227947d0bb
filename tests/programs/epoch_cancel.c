// SPDX-License-Identifier: MIT
// pthread_cancel while functions move: in blocking calls, in loops that test, at any instruction, switched off meanwhile;
// cleanup handlers and destructors of thread data run, each once.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <semaphore.h>

static int cleaned, destroyed, cancel_sent;
static pthread_key_t key;
static void clean(void *amount) {
  work(200);
  __atomic_add_fetch(&cleaned, *(int *)amount, __ATOMIC_RELAXED);
}
static void destroy(void *value) {
  work(200);
  __atomic_add_fetch(&destroyed, (int)(intptr_t)value, __ATOMIC_RELAXED);
}
static void unlock(void *mutex) { pthread_mutex_unlock(mutex); }

static sem_t running, never;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int ends[2];

static void block_in(int kind) {
  char byte;
  struct timespec hour = {3600, 0};
  sem_post(&running);
  switch (kind) {
  case 0: nanosleep(&hour, NULL); break;
  case 1: CHECK(read(ends[0], &byte, 1) == 1); break;
  case 2: sem_wait(&never); break;
  default:
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, &mutex);
    for (;;) pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
  }
  CHECK(!"what is blocked for ever does not return");
}
NOINLINE static void block_below(int depth, int kind) {
  int amount = 1;
  volatile int mark = depth;
  pthread_cleanup_push(clean, &amount);
  if (depth == 0) block_in(kind);
  else block_below(depth - 1, kind);
  CHECK(mark == depth);
  pthread_cleanup_pop(0);
}
static void *blocked(void *kind) {
  pthread_setspecific(key, (void *)1);
  block_below(9, (int)(intptr_t)kind);
  return NULL;
}

static void *testing(void *unused) {
  int amount = 10;
  pthread_cleanup_push(clean, &amount);
  sem_post(&running);
  for (;;) {
    work_once();
    pthread_testcancel();
  }
  pthread_cleanup_pop(0);
  return unused;
}

// Cancelled at any instruction of a loop that calls nothing, and of one that calls functions that move.
NOINLINE static void spin(volatile unsigned *counter) {
  for (;;) *counter = *counter * 3 + 1;
}
static void *at_any_place(void *calls) {
  volatile unsigned counter = 0;
  int amount = 10;
  pthread_cleanup_push(clean, &amount);
  sem_post(&running);
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  if (!calls) spin(&counter);
  for (;;) counter += work(50);
  pthread_cleanup_pop(0);
  return NULL;
}

static void *switched_off(void *unused) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  sem_post(&running);
  while (!__atomic_load_n(&cancel_sent, __ATOMIC_ACQUIRE)) {
    work_once();
    pthread_testcancel();
  }
  work_ms(1.2);
  __atomic_add_fetch(&cleaned, 10, __ATOMIC_RELAXED);
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
  pthread_testcancel();
  CHECK(!"a cancelled thread ends here");
  return unused;
}

static void cancel_one(void *(*run)(void *), intptr_t argument) {
  int had = cleaned;
  __atomic_store_n(&cancel_sent, 0, __ATOMIC_RELEASE);
  pthread_t thread = start_thread(run, (void *)argument);
  while (sem_wait(&running) != 0) CHECK(!"sem_wait is restarted");
  work_ms(1.2);
  CHECK(pthread_cancel(thread) == 0);
  __atomic_store_n(&cancel_sent, 1, __ATOMIC_RELEASE);
  CHECK(join_thread(thread) == PTHREAD_CANCELED);
  CHECK(__atomic_load_n(&cleaned, __ATOMIC_RELAXED) == had + 10);
}

int main(void) {
  sem_init(&running, 0, 0);
  sem_init(&never, 0, 0);
  CHECK(pipe(ends) == 0);
  pthread_key_create(&key, destroy);
  int blocking = 0;
  for (double end = section(1); before(end);) {
    for (int kind = 0; kind < 4; ++kind, ++blocking) cancel_one(blocked, kind);
    cancel_one(testing, 0);
    cancel_one(at_any_place, 0);
    cancel_one(at_any_place, 1);
    cancel_one(switched_off, 0);
  }
  CHECK(destroyed == blocking);
  puts("every cancelled thread cleaned up");
  return 0;
}
