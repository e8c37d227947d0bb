// SPDX-License-Identifier: MIT
// What programs do wrong with their heap, one way for each argument. Ends with status 0 where it goes unnoticed.
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *volatile block;  // hides from the compiler what is freed

static void *free_it(void *nothing) {
  free(block);
  return nothing;
}

static void free_in_a_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, free_it, NULL) == 0) pthread_join(thread, NULL);
}

// So that a block that was freed is far from the newest.
static void free_many(void) {
  static char *others[3000];
  for (int i = 0; i < 3000; ++i) others[i] = malloc(64);
  free(block);
  for (int i = 0; i < 3000; ++i) free(others[i]);
}

// The bag of a thread that ends goes back to the slabs, with a slot that it holds twice.
static void *free_twice_and_end(void *nothing) {
  static char *others[600];
  for (int i = 0; i < 600; ++i) others[i] = malloc(64);
  for (int i = 0; i < 100; ++i) free(others[i]);
  free(block);
  for (int i = 100; i < 200; ++i) free(others[i]);
  free(block);
  for (int i = 200; i < 600; ++i) free(others[i]);
  return nothing;
}

static void *allocate_one(void *nothing) {
  free(malloc(64));
  return nothing;
}

// In the last round, after the heap's own destructor.
static pthread_key_t key;
static int rounds;
static void free_twice_at_end(void *data) {
  if (++rounds < 4) {
    pthread_setspecific(key, data);
    return;
  }
  free(block);
  free(block);
}
static void *end_late(void *nothing) {
  pthread_setspecific(key, block);
  return allocate_one(nothing);
}

static void run(void *(*body)(void *)) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, NULL) == 0) pthread_join(thread, NULL);
}

// A program may want to say something before it ends.
static void aborted(int number) {
  for (size_t size = 16; size <= 1 << 20; size *= 2) {
    char *volatile some = malloc(size);
    memset(some, 1, size);
    free(malloc(64));
    free(some);
  }
  printf("signal %d, block %d\n", number, block != NULL);
  fflush(stdout);
}

// So that the block's slab is not given back whole.
static char *kept[100];

int main(int count, char **arguments) {
  const char *how = count > 1 ? arguments[1] : "";
  if (count > 2) {
    signal(SIGABRT, aborted);
    for (int i = 0; i < 100; ++i) kept[i] = malloc(64);
  }
  block = malloc(strncmp(how, "large", 5) == 0 ? 1 << 20 : 64);
  memset(block, 1, 64);
  if (strcmp(how, "none") == 0) {
    free_many();
  } else if (strcmp(how, "twice") == 0 || strcmp(how, "large-twice") == 0) {
    free(block);
    free(block);
  } else if (strcmp(how, "twice-later") == 0) {
    free_many();
    free(block);
  } else if (strcmp(how, "twice-elsewhere") == 0) {
    free(block);
    free_in_a_thread();
  } else if (strcmp(how, "inner") == 0) {
    free(block + 8);
  } else if (strcmp(how, "inner-16") == 0) {
    free(block + 16);
  } else if (strcmp(how, "large-inner") == 0) {
    free(block + 4096);
  } else if (strcmp(how, "realloc-freed") == 0) {
    free(block);
    block = realloc(block, 1000);
  } else if (strcmp(how, "realloc-inner") == 0) {
    block = realloc(block + 8, 1000);
  } else if (strcmp(how, "large-realloc-freed") == 0) {
    free(block);
    block = realloc(block, 1 << 21);
  } else if (strcmp(how, "twice-in-a-thread") == 0) {
    run(free_twice_and_end);
  } else if (strcmp(how, "twice-at-a-threads-end") == 0) {
    run(allocate_one);
    pthread_key_create(&key, free_twice_at_end);
    run(end_late);
  } else {
    return 2;
  }
  puts("unnoticed");
  return 0;
}
