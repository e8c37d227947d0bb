/* SPDX-License-Identifier: MIT
 * What causal_programs_test.cc profiles with Debian's coz.h, in two translation units: this one is both, and
 * SECOND says which. */
#include <coz.h>

void second_works(void);

#ifdef SECOND
void second_works(void) {
  COZ_BEGIN("piece");
  for (long i = 300000; i > 0; --i) __asm__ volatile("" : "+r"(i));
  COZ_END("piece");
  COZ_PROGRESS_NAMED("item");
}
#else
int main(void) {
  for (long i = 0; i < 3000; ++i) {
    second_works();
    COZ_PROGRESS_NAMED("item");
  }
  return 0;
}
#endif
