// SPDX-License-Identifier: MIT
// What programs do wrong with their heap, one way for each argument. Ends with status 0 where it goes unnoticed.
#include <malloc.h>
#include <pthread.h>
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

int main(int count, char **arguments) {
  const char *how = count > 1 ? arguments[1] : "";
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
  } else {
    return 2;
  }
  puts("unnoticed");
  return 0;
}
