// SPDX-License-Identifier: MIT
// A hash table with chained nodes and copied keys: many small blocks of two sizes, looked up at
// random.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node *next;
  char *key;
  int count;
};

static struct node **table;
static unsigned buckets;

static unsigned hash(const char *key) {
  unsigned h = 5381;
  while (*key) h = h * 33 + (unsigned char)*key++;
  return h;
}

static struct node *find(const char *key) {
  struct node **at = &table[hash(key) % buckets];
  for (; *at; at = &(*at)->next)
    if (strcmp((*at)->key, key) == 0) return *at;
  *at = calloc(1, sizeof **at);
  (*at)->key = strdup(key);
  return *at;
}

int main(int argc, char **argv) {
  const unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 6, keys = argc > 2 ? (unsigned)atoi(argv[2]) : 150000;
  buckets = keys + 1;
  table = calloc(buckets, sizeof *table);
  unsigned seed = 1;
  long sum = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    for (unsigned i = 0; i < keys; ++i) {
      char key[24];
      snprintf(key, sizeof key, "w%x", i * 2654435761u);
      ++find(key)->count;
    }
    for (unsigned i = 0; i < keys; ++i) {
      char key[24];
      seed = seed * 1664525u + 1013904223u;
      snprintf(key, sizeof key, "w%x", (seed >> 8) % keys * 2654435761u);
      sum += ++find(key)->count;
    }
  }
  printf("%ld\n", sum);
}
