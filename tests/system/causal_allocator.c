/* SPDX-License-Identifier: MIT
 * What causal_allocator_test.cc profiles: threads that allocate, and children of fork that do. With OWN the
 * program has an allocator of its own, whose lock checks what it is asked. TIMES EXIT_CODE */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stabilizer.h"

enum { threads = 4, blocks = 16 };

#ifdef OWN
/* Each block is a power of two bytes and begins with which. */
struct block {
  uint64_t power;
  struct block* next;
};
enum { first_power = 5, powers = 48, arena_bytes = 256 << 20 };
static pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static struct block* freed[powers];
static char* next_byte;
static char* arena_end;

static void enter(void) {
  if (pthread_mutex_lock(&lock) != 0) _exit(98);
}
static void leave(void) {
  if (pthread_mutex_unlock(&lock) != 0) _exit(97);
}

static struct block* take(uint64_t power) {
  struct block* block = freed[power];
  if (block != NULL) {
    freed[power] = block->next;
    return block;
  }
  if (next_byte == NULL) {
    next_byte = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    arena_end = next_byte + arena_bytes;
  }
  if (arena_end - next_byte < (long)1 << power) return NULL;
  block = (struct block*)next_byte;
  next_byte += (long)1 << power;
  return block;
}

void* malloc(size_t size) {
  uint64_t power = first_power;
  while (((size_t)1 << power) < size + sizeof(struct block)) ++power;
  enter();
  struct block* block = take(power);
  leave();
  if (block == NULL) {
    errno = ENOMEM;
    return NULL;
  }
  block->power = power;
  return block + 1;
}

void free(void* memory) {
  if (memory == NULL) return;
  struct block* block = (struct block*)memory - 1;
  enter();
  block->next = freed[block->power];
  freed[block->power] = block;
  leave();
}

void* calloc(size_t count, size_t size) {
  void* made = malloc(count * size);
  return made == NULL ? NULL : memset(made, 0, count * size);
}

void* realloc(void* memory, size_t size) {
  void* made = malloc(size);
  if (memory == NULL || made == NULL) return made;
  const size_t had = ((size_t)1 << ((struct block*)memory - 1)->power) - sizeof(struct block);
  memcpy(made, memory, had < size ? had : size);
  free(memory);
  return made;
}

/* The child's thread has another number, and so did not take the lock. */
static void renew(void) {
  lock = (pthread_mutex_t)PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
}
static void begin_own(void) {
  pthread_atfork(enter, leave, renew);
}
#else
static void begin_own(void) {}
#endif

static pthread_key_t kept;

static long allocate(void) {
  long sum = 0;
  char* made[blocks];
  for (long i = 0; i < blocks; ++i) {
    made[i] = calloc(1, 16 + 50 * i);
    made[i][0] = (char)i;
  }
  for (long i = 0; i < blocks; ++i) {
    made[i] = realloc(made[i], 3000);
    sum += made[i][0];
    free(made[i]);
  }
  return sum;
}

static void* work(void* times) {
  pthread_setspecific(kept, malloc(100));
  long sum = 0;
  for (long i = (long)times; i > 0; --i) {
    for (long left = 100000; left > 0; --left) __asm__ volatile("" : "+r"(left)); /* hot */
    sum += allocate();
    STAB_PROGRESS("item");
  }
  return (void*)sum;
}

/* While the other threads allocate. */
static int fork_some(void) {
  int failed = 0;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(allocate() == blocks * (blocks - 1) / 2 ? 0 : 1);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) ++failed;
  }
  return failed;
}

int main(int count, char** words) {
  if (count < 3) return 99;
  begin_own();
  /* What a thread keeps is freed when the thread has ended for all others. */
  pthread_key_create(&kept, free);
  pthread_t all[threads];
  for (int i = 0; i < threads; ++i)
    pthread_create(&all[i], NULL, work, (void*)(atol(words[1]) / threads));
  const int failed = fork_some();
  long sum = 0;
  for (int i = 0; i < threads; ++i) {
    void* value = NULL;
    pthread_join(all[i], &value);
    sum += (long)value;
  }
  printf("sum %ld, failed %d\n", sum, failed);
  return atoi(words[2]);
}
