// SPDX-License-Identifier: MIT
// A library that szc did not build can make contexts, and keeps some that it never goes back to. With MADE it runs a callback on
// a stack of its own in the last part of the program.
// plain_library: epoch_late_contexts_library.c
// variants: -O0 | -O2 | -O2 -DMADE | -O3 -DMADE
#include "hazard.h"

int on_other_stack(int (*callback)(void *), void *argument);
int keep_context(void);

NOINLINE static int callback(void *argument) {
  work_ms(1);
  return *(int *)argument;
}

NOINLINE static uint32_t turns(const unsigned char *codes, int count, int made) {
  uint32_t a = 1, b = 2;
  for (int i = 0; i < count; ++i) {
    switch (codes[i]) {
    case 0: a += b * 3; break;
    case 1: b ^= a << 3; break;
    case 2: a = b * 5 + 1; break;
    case 3: b += 11; break;
    case 4: work_ms(0.3); break;
    case 5:
      if (made) CHECK(on_other_stack(callback, &i) == i);
      break;
    default: a -= 7;
    }
  }
  return a ^ b;
}

int main(void) {
  static const unsigned char codes[] = {0, 1, 2, 4, 3, 5, 4, 6, 7, 0, 5, 2, 4, 1, 3, 6};
  const uint32_t first = turns(codes, sizeof codes, 0);
  CHECK(keep_context() == 0);
  for (double end = section(0.7); before(end);) CHECK(turns(codes, sizeof codes, 0) == first);
#ifdef MADE
  for (double end = section(0.3); before(end);) CHECK(turns(codes, sizeof codes, 1) == first);
#endif
  printf("%x\n", first);
  return 0;
}
