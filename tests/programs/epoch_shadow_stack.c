// SPDX-License-Identifier: MIT
// The hooks of -finstrument-functions keep a stack of their own in the heap: each function leaves as the one that entered.
// variants: -O0 -finstrument-functions | -O2 -finstrument-functions
#define HOOK __attribute__((no_instrument_function))
#include "hazard.h"

enum { FRAMES = 1000 };
static void **entered;
static long depth, unequal_functions, unequal_sites;

HOOK void __cyg_profile_func_enter(void *function, void *site);
HOOK void __cyg_profile_func_exit(void *function, void *site);
void __cyg_profile_func_enter(void *function, void *site) {
  if (!entered) entered = calloc(FRAMES, 2 * sizeof *entered);
  if (depth < FRAMES) entered[2 * depth] = function, entered[2 * depth + 1] = site;
  ++depth;
}
void __cyg_profile_func_exit(void *function, void *site) {
  --depth;
  if (depth >= FRAMES) return;
  unequal_functions += entered[2 * depth] != function;
  unequal_sites += entered[2 * depth + 1] != site;
}

NOINLINE static int descend(int n) {
  work_once();
  return n > 0 ? descend(n - 1) + 1 : 0;
}
int main(void) {
  for (double end = section(1); before(end);) CHECK(descend(100) == 100);
  printf("%ld deep, functions differ: %s, sites differ: %s\n", depth, unequal_functions ? "yes" : "no", unequal_sites ? "yes" : "no");
  return 0;
}
