/* SPDX-License-Identifier: MIT
 * A second or two of rounds on the CPU. Its first line is what LD_PRELOAD is. */
#include <stabilizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(void) {
  const char* library = getenv("LD_PRELOAD");
  puts(library ? library : "none");
  struct timespec begin, now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  do {
    for (volatile long left = 100000; left > 0; --left) {
    }
    STAB_PROGRESS("round");
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  } while (now.tv_sec - begin.tv_sec < 2);
  return 0;
}
