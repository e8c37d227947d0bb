/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  const char *library = getenv("LD_PRELOAD");
  fprintf(stderr, "heap: %s\n", library ? library : "the system's");
  return 0;
}
