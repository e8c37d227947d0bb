// SPDX-License-Identifier: MIT
// The first call of syscall() has all its arguments.
// variants: -O0 | -O2
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
  const int file = open("/proc/self/exe", O_RDONLY);
  const char *text = (const char *)syscall(SYS_mmap, 0L, 4096L, (long)PROT_READ, (long)MAP_PRIVATE, (long)file, 0L);
  printf("%.3s\n", text == MAP_FAILED ? "no" : text + 1);
  return 0;
}
