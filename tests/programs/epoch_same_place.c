// SPDX-License-Identifier: MIT
// A function that expects its frame where it was when it was called before at the same depth, as interpreters do that switch coroutines
// only where no other C code is active.
// variants: -O0 | -O2 | -O2 -flto
#include "hazard.h"

struct coroutine {
  int *level;
  unsigned long switches, busy;
};

NOINLINE static void transfer(struct coroutine *c) {
  int unused;
  int *level = &unused;
  c->switches += 1;
  work_once();
  if (!c->level) {
    c->level = level;
  } else {
    if (c->level != level) c->busy += 1;
    c->level = NULL;
  }
}

NOINLINE static void run(struct coroutine *c) {
  for (double end = section(1); before(end);) {
    transfer(c);
    work_once();
    transfer(c);
  }
}

int main(void) {
  struct coroutine *c = calloc(1, sizeof *c);
  CHECK(c);
  run(c);
  CHECK(c->busy == 0);
  puts("always at the same place");
  free(c);
  return 0;
}
