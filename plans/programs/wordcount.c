/* SPDX-License-Identifier: MIT
   Counts words of a generated text in a chained hash table: many small heap objects, short functions, string compares. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
  struct entry *next;
  uint32_t count;
  char word[];
};

struct table {
  struct entry **buckets;
  size_t size, used;
};

static uint32_t state = 12345;

static uint32_t random_number(void) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

static uint32_t hash(const char *word) {
  uint32_t h = 2166136261u;
  for (; *word; ++word) h = (h ^ (uint8_t)*word) * 16777619u;
  return h;
}

static void *checked(void *memory) {
  if (!memory) {
    fputs("out of memory\n", stderr);
    exit(1);
  }
  return memory;
}

static void grow(struct table *table) {
  size_t size = table->size * 2;
  struct entry **buckets = checked(calloc(size, sizeof *buckets));
  for (size_t i = 0; i < table->size; ++i)
    for (struct entry *e = table->buckets[i], *next; e; e = next) {
      next = e->next;
      struct entry **home = &buckets[hash(e->word) & (size - 1)];
      e->next = *home;
      *home = e;
    }
  free(table->buckets);
  table->buckets = buckets;
  table->size = size;
}

static void count(struct table *table, const char *word) {
  struct entry **home = &table->buckets[hash(word) & (table->size - 1)];
  for (struct entry *e = *home; e; e = e->next)
    if (!strcmp(e->word, word)) {
      ++e->count;
      return;
    }
  struct entry *fresh = checked(malloc(sizeof *fresh + strlen(word) + 1));
  strcpy(fresh->word, word);
  fresh->count = 1;
  fresh->next = *home;
  *home = fresh;
  if (++table->used > table->size) grow(table);
}

/* Short words are common, long ones rare, as in real text. */
static void next_word(char *word) {
  static const char *const syllables[] = {"ta", "ren", "mo", "li", "ka", "su", "ven", "dor", "pi", "el", "ga", "ith"};
  unsigned parts = 1 + (unsigned)__builtin_ctz(random_number() | 32);
  *word = 0;
  while (parts--) strcat(word, syllables[random_number() % 12]);
}

static int by_count(const void *a, const void *b) {
  const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
  if (x->count != y->count) return x->count < y->count ? 1 : -1;
  return strcmp(x->word, y->word);
}

static void print_top(const struct table *table, size_t wanted) {
  struct entry **all = checked(malloc(table->used * sizeof *all));
  size_t n = 0;
  for (size_t i = 0; i < table->size; ++i)
    for (struct entry *e = table->buckets[i]; e; e = e->next) all[n++] = e;
  qsort(all, n, sizeof *all, by_count);
  printf("%zu different words\n", n);
  for (size_t i = 0; i < wanted && i < n; ++i) printf("%u %s\n", all[i]->count, all[i]->word);
  free(all);
}

int main(int argc, char **argv) {
  long words = argc > 1 ? atol(argv[1]) : 1000000;
  struct table table = {checked(calloc(64, sizeof(struct entry *))), 64, 0};
  char word[64];
  for (long i = 0; i < words; ++i) {
    next_word(word);
    count(&table, word);
  }
  print_top(&table, 10);
  return 0;
}
