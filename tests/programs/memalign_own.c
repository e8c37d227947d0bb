// SPDX-License-Identifier: MIT
// A memalign made of posix_memalign, as programs bring one that were written for systems without it. The malloc is the
// system's, so posix_memalign must not come back here.
// variants: -O1 | -O2
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void* memalign(size_t alignment, size_t size) {
  void* block = NULL;
  return posix_memalign(&block, alignment, size) == 0 ? block : NULL;
}

int main(void) {
  char* aligned = memalign(64, 100);
  char* page = valloc(100);
  if (aligned == NULL || page == NULL) return 1;
  memset(aligned, 1, 100);
  memset(page, 2, 100);
  printf("%d %d\n", (int)((size_t)aligned % 64), (int)((size_t)page % 4096));
  free(aligned);
  free(page);
  return 0;
}
