/* SPDX-License-Identifier: MIT
 * A library that causal_host.c opens. A line that ends with a mark is named by it. */
#include "stabilizer.h"

void first(long times);
void again(long times);

void first(long times) {
  for (; times > 0; --times) {
    for (long i = 300000; i > 0; --i) __asm__ volatile("" : "+r"(i)); /* first */
    STAB_PROGRESS("item");
  }
}

void again(long times) {
  for (; times > 0; --times) {
    for (long i = 300000; i > 0; --i) __asm__ volatile("" : "+r"(i)); /* again */
    STAB_PROGRESS("item");
  }
}
