// SPDX-License-Identifier: MIT
// Patients wait in lists of 24-byte cells in a tree of clinics, move up, and leave: what Olden's
// "health" does to a heap. Most of the time goes into following the lists.
#include <stdio.h>
#include <stdlib.h>

struct cell {
  struct cell *next;
  struct cell *previous;
  struct patient *patient;
};
struct patient {
  int visits;
  int left;
  int total;
};
struct list {
  struct cell first;
};
struct clinic {
  struct clinic *under[4];
  struct list waiting, treated;
  unsigned seed;
  int beds;
};

static long done, visits;

static void add(struct list *list, struct patient *patient) {
  struct cell *cell = malloc(sizeof *cell);
  struct cell *at = &list->first;
  while (at->next) at = at->next;
  cell->patient = patient;
  cell->next = NULL;
  cell->previous = at;
  at->next = cell;
}

static void take(struct cell *cell) {
  cell->previous->next = cell->next;
  if (cell->next) cell->next->previous = cell->previous;
  free(cell);
}

static unsigned draw(struct clinic *clinic) { return (clinic->seed = clinic->seed * 1664525u + 1013904223u) >> 8; }

static struct clinic *build(int level, unsigned *seed) {
  if (level == 0) return NULL;
  struct clinic *clinic = calloc(1, sizeof *clinic);
  clinic->seed = ++*seed * 7919;
  clinic->beds = 1 << level;
  for (int i = 0; i < 4; ++i) clinic->under[i] = build(level - 1, seed);
  return clinic;
}

static void treat(struct clinic *clinic, struct list *up) {
  for (struct cell *cell = clinic->treated.first.next, *next; cell; cell = next) {
    next = cell->next;
    if (--cell->patient->left > 0) continue;
    struct patient *patient = cell->patient;
    take(cell);
    ++clinic->beds;
    if (up && draw(clinic) % 10 == 0) {
      add(up, patient);
    } else {
      ++done;
      visits += patient->visits;
      free(patient);
    }
  }
  for (struct cell *cell = clinic->waiting.first.next, *next; cell; cell = next) {
    next = cell->next;
    ++cell->patient->total;
    if (clinic->beds == 0) continue;
    --clinic->beds;
    struct patient *patient = cell->patient;
    take(cell);
    patient->left = 3 + (int)(draw(clinic) % 8);
    ++patient->visits;
    add(&clinic->treated, patient);
  }
}

static void step(struct clinic *clinic, struct list *up, int level) {
  if (!clinic) return;
  for (int i = 0; i < 4; ++i) step(clinic->under[i], &clinic->waiting, level - 1);
  treat(clinic, up);
  if (level == 1 && draw(clinic) % 3 != 0) add(&clinic->waiting, calloc(1, sizeof(struct patient)));
}

int main(int argc, char **argv) {
  const int levels = argc > 1 ? atoi(argv[1]) : 6, steps = argc > 2 ? atoi(argv[2]) : 250;
  unsigned seed = 0;
  struct clinic *top = build(levels, &seed);
  for (int i = 0; i < steps; ++i) step(top, NULL, levels);
  printf("%ld %ld\n", done, visits);
}
