// SPDX-License-Identifier: MIT
// Twenty pairs of programs whose time depends on their allocator: -DPAIR=N is the first of a pair,
// -DPAIR=N -DOTHER the second. bench/allocators knows the truth of each.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef OTHER
#define PICK(first, other) (other)
#else
#define PICK(first, other) (first)
#endif

static volatile unsigned long sum;

static void *taken(size_t size) {
  char *block = malloc(size);
  if (block == NULL) abort();
  __asm__ volatile("" : "+r"(block) : : "memory");  // it is no other's twin to the compiler
  block[0] = (char)size;
  return block;
}

static void touch(char *block, int value, size_t size) {
  memset(block, value, size);
  __asm__ volatile("" : : "r"(block) : "memory");
}

// Blocks of about 64 KB, touched and freed: thresholds decide.
static void large_blocks(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    char *p[8];
    for (int j = 0; j < 8; ++j) touch(p[j] = taken(60000 + (size_t)j * 1000), i, 60000);
    for (int j = 7; j >= 0; --j) {
      sum += (unsigned char)p[j][i % 60000];
      free(p[j]);
    }
  }
}

struct cell {
  struct cell *next;
  long value;
  char rest[32];
};

// A queue of small blocks: each round takes one and gives the oldest back.
static void queue_of(int rounds, size_t size) {
  enum { length = 500 };
  static char *queue[length];
  for (int i = 0; i < rounds; ++i) {
    char **place = &queue[i % length];
    if (*place != NULL) sum += (unsigned char)**place;
    free(*place);
    *place = taken(size);
  }
  for (int i = 0; i < length; ++i) free(queue[i]), queue[i] = NULL;
}

// Work of the processor without the heap.
static void compute(int rounds) {
  unsigned long x = 1;
  for (int i = 0; i < rounds; ++i) x = x * 6364136223846793005ul + 1442695040888963407ul;
  sum += x;
}

static void lists(int rounds, int cells) {
  for (int i = 0; i < rounds; ++i) {
    struct cell *list = NULL;
    for (int j = 0; j < cells; ++j) {
      struct cell *cell = taken(sizeof *cell);
      cell->next = list, cell->value = j, list = cell;
    }
    while (list != NULL) {
      struct cell *next = list->next;
      sum += (unsigned long)list->value;
      free(list), list = next;
    }
  }
}

static void *thread_main(void *unused) {
  for (int i = 0; i < 2000; ++i) {
    void *blocks[100];
    for (int j = 0; j < 100; ++j) blocks[j] = taken(2000);
    for (int j = 0; j < 100; ++j) free(blocks[j]);
  }
  return unused;
}

int main(void) {
#if PAIR == 1  // as its users found it
  if (PICK(0, 1)) mallopt(M_MMAP_THRESHOLD, 64 << 20), mallopt(M_TRIM_THRESHOLD, 256 << 20);
  large_blocks(400);
#elif PAIR == 2  // a threshold that stays, below and above the blocks
  mallopt(M_MMAP_THRESHOLD, PICK(128 << 10, 16 << 20));
  for (int i = 0; i < 600; ++i) {
    char *block = taken(200000);
    touch(block, i, 200000);
    sum += (unsigned char)block[i], free(block);
  }
#elif PAIR == 3  // by how much the heap grows
  mallopt(M_TOP_PAD, PICK(0, 1 << 20)), mallopt(M_TRIM_THRESHOLD, PICK(0, 1 << 20));
  for (int i = 0; i < 1000; ++i) {
    char *block = taken(100000);
    touch(block, i, 100000);
    sum += (unsigned char)block[i % 100000], free(block);
  }
#elif PAIR == 4  // zeroed memory that nobody touches
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  for (int i = 0; i < 30; ++i) {
    char *block = PICK(taken(4 << 20), calloc(1, 4 << 20));
    if (PICK(1, 0)) touch(block, 0, 4 << 20);
    sum += (unsigned char)block[i], free(block);
  }
#elif PAIR == 5  // growth by steps and by doubling
  for (int i = 0; i < 100; ++i) {
    char *block = NULL;
    size_t room = 0;
    for (size_t size = 1000; size < 100000; size += 100) {
      if (size > room) {
        room = PICK(size, 2 * size);
        block = realloc(PICK(NULL, block), room);
        if (PICK(1, 0)) touch(block, 1, room);
      }
      block[size - 1] = 1;
      if (PICK(1, 0)) free(block), block = NULL;
    }
    free(block);
  }
#elif PAIR == 6  // growth by moving and by realloc
  for (int i = 0; i < 2; ++i) {
    char *block = taken(1 << 20);
    for (size_t size = 1 << 20; size < 20u << 20; size += 1 << 20) {
      if (PICK(1, 0)) {
        char *more = taken(size + (1 << 20));
        memcpy(more, block, size), free(block), block = more;
      } else {
        block = realloc(block, size + (1 << 20));
      }
      block[size] = 1;
    }
    free(block);
  }
#elif PAIR == 7  // one arena for two threads, and one each
  pthread_t threads[2];
  mallopt(M_ARENA_MAX, PICK(1, 4));
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, thread_main, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
#elif PAIR == 8  // memory that is trimmed again and again
  for (int i = 0; i < 300; ++i) {
    lists(1, 5000);
    if (PICK(1, 0)) malloc_trim(0);
  }
#elif PAIR == 9  // many blocks and one
  for (int i = 0; i < 300; ++i) {
    if (PICK(1, 0)) {
      lists(1, 10000);
    } else {
      struct cell *all = taken(10000 * sizeof *all);
      for (int j = 0; j < 10000; ++j) all[j].value = j, sum += (unsigned long)all[j].value;
      free(all);
    }
  }
#elif PAIR == 10  // a pool of its own
  static struct cell *pool;
  for (int i = 0; i < 2000000; ++i) {
    struct cell *cell;
    if (PICK(1, 0)) {
      free(taken(40 + (size_t)i % 2));
      free(taken(400));
    } else {
      if (pool == NULL) pool = calloc(1, sizeof *pool);
      cell = pool, pool = cell->next, cell->value = i, cell->next = pool, pool = cell;
    }
  }
#elif PAIR == 11  // blocks of whole pages
  for (int i = 0; i < 12; ++i) {
    static void *blocks[3000];
    for (int j = 0; j < 3000; ++j)
      if (PICK(posix_memalign(&blocks[j], 4096, 64) != 0, (blocks[j] = malloc(64)) == NULL)) abort();
      else touch(blocks[j], 1, 64);
    for (int j = 0; j < 3000; ++j) free(blocks[j]);
  }
#elif PAIR == 12  // a list that is walked: fresh cells in a row, and cells among others
  struct cell *list = NULL;
  for (int i = 0; i < 60000; ++i) {
    if (PICK(1, 0)) taken(1100);
    struct cell *cell = taken(sizeof *cell);
    cell->next = list, cell->value = i, list = cell;
  }
  for (int i = 0; i < 40; ++i)
    for (struct cell *cell = list; cell != NULL; cell = cell->next) sum += (unsigned long)cell->value;
#elif PAIR == 13  // memory that is kept
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  for (int i = 0; i < 25; ++i) {
    static char *kept;
    if (kept == NULL || PICK(1, 0)) kept = taken(8 << 20);
    touch(kept, i, 8 << 20);
    sum += (unsigned char)kept[i];
    if (PICK(1, 0)) free(kept);
  }
#elif PAIR == 14  // copies of texts
  char text[200] = "a text of a usual length, as configuration files and messages have them";
  for (int i = 0; i < 3000000; ++i)
    if (PICK(1, 0)) {
      char *copy = strdup(text);
      sum += (unsigned char)copy[i % 60], free(copy);
    } else {
      sum += (unsigned char)text[i % 60];
    }
#elif PAIR == 15  // the same
  large_blocks(400);
#elif PAIR == 16  // the same
  lists(300, 3000);
#elif PAIR == 17  // the same, with few blocks
  queue_of(200000, 100);
  compute(40000000);
#elif PAIR == 18  // half as much work again beside few blocks
  queue_of(100000, 100);
  compute(PICK(60000000, 40000000));
#elif PAIR == 19  // more of the same blocks
  queue_of(PICK(3000000, 2000000), 64);
#elif PAIR == 20  // large pages, and small ones
  const size_t size = 32 << 20;
  char *block = aligned_alloc(2 << 20, size);
  madvise(block, size, PICK(MADV_NOHUGEPAGE, MADV_HUGEPAGE));
  for (int i = 0; i < 3; ++i) touch(block, i, size);
  sum += (unsigned char)block[4096];
#else
#error "-DPAIR=1 to -DPAIR=20"
#endif
  (void)touch, (void)large_blocks, (void)lists, (void)queue_of, (void)compute, (void)thread_main;
  printf("%d\n", sum != 1);
  return 0;
}
