// SPDX-License-Identifier: MIT
// All functions of the malloc family, with what the C standard, POSIX and libc's manual promise.
// variants: -O0 | -O2 | -O2 -no-pie
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile early;
__attribute__((constructor)) static void before_main(void) { early = strdup("before main"); }
__attribute__((destructor)) static void after_main(void) {
  puts(early);
  free(early);
  free(malloc(100));
}

static int failures;
#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) {                                       \
      printf("line %d: %s\n", __LINE__, #condition);          \
      ++failures;                                             \
    }                                                         \
  } while (0)

// The compiler believes that malloc leaves errno alone.
#define CHECK_NO_MEMORY(call)             \
  do {                                    \
    errno = 0;                            \
    keep = (call);                        \
    __asm__ volatile("" ::: "memory");    \
    CHECK(keep == NULL && errno == ENOMEM); \
  } while (0)

static void *volatile keep;  // hides from the compiler what is allocated

static int aligned(const void *block, size_t to) { return (uintptr_t)block % to == 0; }
static int all(const unsigned char *at, size_t n, unsigned char value) {
  for (size_t i = 0; i < n; ++i)
    if (at[i] != value) return 0;
  return 1;
}

static void sizes(void) {
  static const size_t tried[] = {0,    1,    8,     15,    16,    17,     24,     63,      64,
                                 65,   100,  127,   128,   129,   500,    512,    1000,    1024,
                                 1025, 4096, 32768, 32784, 32785, 100000, 131072, 1000000, 9000000};
  enum { count = sizeof tried / sizeof *tried };
  unsigned char *blocks[count];
  for (int i = 0; i < count; ++i) {
    blocks[i] = malloc(tried[i]);
    CHECK(blocks[i] != NULL && aligned(blocks[i], 16));
    CHECK(malloc_usable_size(blocks[i]) >= tried[i]);
    memset(blocks[i], i, malloc_usable_size(blocks[i]));
  }
  for (int i = 0; i < count; ++i) CHECK(all(blocks[i], malloc_usable_size(blocks[i]), (unsigned char)i));
  for (int i = 0; i < count; ++i) free(blocks[i]);
  CHECK(malloc_usable_size(NULL) == 0);
  free(NULL);
}

static void zeroes(void) {
  for (size_t size = 1; size < 400000; size = size * 3 / 2 + 1) {
    unsigned char *dirty = malloc(size);
    memset(dirty, 255, size);
    keep = dirty;
    free(keep);
    unsigned char *block = calloc(size, 1);
    CHECK(block != NULL && all(block, size, 0));
    memset(block, 1, size);
    free(block);
  }
  keep = calloc(0, 10);
  CHECK(keep != NULL);
  free(keep);
}

static volatile size_t huge = SIZE_MAX;

static void refusals(void) {
  CHECK_NO_MEMORY(malloc(huge));
  CHECK_NO_MEMORY(malloc(huge / 2));
  CHECK_NO_MEMORY(calloc(huge / 2 + 2, 2));
  CHECK_NO_MEMORY(reallocarray(NULL, huge / 2 + 2, 2));
  void *volatile block = malloc(10);
  strcpy(block, "stays");
  CHECK_NO_MEMORY(realloc(block, huge - 100));
  CHECK(strcmp(block, "stays") == 0);
  CHECK_NO_MEMORY(memalign(64, huge - 100));
  CHECK((keep = pvalloc(huge - 100)) == NULL && errno == ENOMEM);
  void *result = &failures;
  CHECK(posix_memalign(&result, 24, 10) == EINVAL && result == &failures);
  CHECK(posix_memalign(&result, 0, 10) == EINVAL);
  CHECK(posix_memalign(&result, 64, huge - 100) == ENOMEM && result == &failures);
  errno = 7;
  free(block);
  CHECK(errno == 7);
}

static void resizes(void) {
  unsigned char *block = NULL;
  size_t old = 0;
  for (size_t size = 1; size < 3000000; size = size * 5 / 4 + 3) {
    block = realloc(block, size);
    CHECK(block != NULL && all(block, old, 9));
    memset(block, 9, size);
    old = size;
  }
  for (; old > 20; old /= 2) {
    block = realloc(block, old / 2);
    CHECK(block != NULL && all(block, old / 2, 9));
  }
  keep = realloc(block, 0);
  CHECK(keep == NULL);
  block = realloc(NULL, 40);
  CHECK(block != NULL);
  unsigned char *same = realloc(block, malloc_usable_size(block));
  CHECK(same != NULL);
  free(same);
}

static void alignments(void) {
  for (size_t to = 8; to <= 1 << 21; to *= 2)
    for (size_t size = 0; size < 200000; size = size * 4 + 3) {
      void *block = NULL;
      CHECK(posix_memalign(&block, to, size) == 0 && aligned(block, to));
      memset(block, 1, size);
      CHECK(malloc_usable_size(block) >= size);
      unsigned char *moved = realloc(block, size + 1000);
      CHECK(moved != NULL && all(moved, size, 1));
      void *other = aligned_alloc(to, size);
      CHECK(other != NULL && aligned(other, to));
      free(moved);
      free(other);
    }
  void *block = memalign(48, 10);
  CHECK(block != NULL && aligned(block, 16));
  free(block);
  block = valloc(10);
  CHECK(block != NULL && aligned(block, 4096));
  free(block);
  block = pvalloc(10);
  CHECK(block != NULL && aligned(block, 4096) && malloc_usable_size(block) >= 4096);
  free(block);
}

static void children(void) {
  void *block = malloc(50);
  for (int i = 0; i < 3; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int k = 0; k < 1000; ++k) keep = malloc((size_t)k);
      free(block);
      _exit(failures);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  free(block);
}

int main(void) {
  sizes();
  zeroes();
  refusals();
  resizes();
  alignments();
  children();
  char *line = NULL;
  CHECK(asprintf(&line, "%d failures", failures) > 0);
  puts(line);
  free(line);
  return failures != 0;
}
