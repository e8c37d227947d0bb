// SPDX-License-Identifier: MIT
// Loops of main and of a thread that call something again and again: what the pads of these loops cover are remains of
// frames that are gone, which must keep no layout. Values beside the pads stay as they are.
// link: -pthread
// variants: -O0 | -O2 | -O3 -flto
#include "hazard.h"

NOINLINE static uint32_t below(uint32_t x, int depth) {
  volatile uint32_t words[8] = {x, x + 1};
  return depth == 0 ? words[x & 1] + work_add(x) : below(work_choose(x), depth - 1) + words[0];
}

static void* turns(void* end) {
  uint32_t sums[4] = {0};
  for (uint32_t i = 0; before(*(double*)end); ++i) {
    for (int k = 0; k < 3; ++k) sums[k] += below(i, k * 5) & 0;
    work_once();
    sums[3] += 1;
    CHECK(sums[0] == 0 && sums[1] == 0 && sums[2] == 0 && sums[3] == i + 1);
  }
  return NULL;
}

int main(void) {
  double end = section(0.5);
  uint32_t sums[4] = {0};
  for (uint32_t i = 0; before(end); ++i) {
    for (int k = 0; k < 3; ++k) sums[k] += below(i, k * 5) & 0;
    work_once();
    sums[3] += 1;
    CHECK(sums[0] == 0 && sums[1] == 0 && sums[2] == 0 && sums[3] == i + 1);
  }
  end = section(0.5);
  join_thread(start_thread(turns, &end));
  puts("right");
  return 0;
}
