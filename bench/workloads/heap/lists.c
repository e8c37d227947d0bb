// SPDX-License-Identifier: MIT
// Many singly linked lists of small cells that are built side by side, walked, sorted by merging,
// and freed.
#include <stdio.h>
#include <stdlib.h>

struct cell {
  struct cell *next;
  unsigned value;
};

static struct cell *merge(struct cell *a, struct cell *b) {
  struct cell head, *at = &head;
  while (a && b) {
    struct cell **smaller = a->value <= b->value ? &a : &b;
    at = at->next = *smaller;
    *smaller = (*smaller)->next;
  }
  at->next = a ? a : b;
  return head.next;
}

static struct cell *sort(struct cell *list) {
  if (!list || !list->next) return list;
  struct cell *slow = list, *fast = list->next;
  while (fast && fast->next) slow = slow->next, fast = fast->next->next;
  struct cell *half = slow->next;
  slow->next = NULL;
  return merge(sort(list), sort(half));
}

int main(int argc, char **argv) {
  enum { lists = 64 };
  const int rounds = argc > 1 ? atoi(argv[1]) : 6, length = argc > 2 ? atoi(argv[2]) : 8000;
  unsigned seed = 1, sum = 0;
  for (int round = 0; round < rounds; ++round) {
    struct cell *list[lists] = {0};
    for (int i = 0; i < length; ++i)
      for (int l = 0; l < lists; ++l) {
        struct cell *cell = malloc(sizeof *cell);
        cell->value = seed = seed * 1664525u + 1013904223u;
        cell->next = list[l];
        list[l] = cell;
      }
    for (int l = 0; l < lists; ++l) {
      for (int pass = 0; pass < 4; ++pass)
        for (struct cell *cell = list[l]; cell; cell = cell->next) sum += cell->value;
      list[l] = sort(list[l]);
      for (struct cell *cell = list[l], *next; cell; cell = next) {
        next = cell->next;
        free(cell);
      }
    }
  }
  printf("%u\n", sum);
}
