// SPDX-License-Identifier: MIT
// Dies by the signal that the first argument names, with an alternate stack of so many bytes and nothing below it.
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(int count, char **arguments) {
  if (count < 3) return 2;
  const size_t size = (size_t)atoi(arguments[2]), page = 4096, room = (size + page - 1) & -page;
  char *memory = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, page, PROT_NONE) != 0) return 3;
  const stack_t stack = {.ss_sp = memory + page + room - size, .ss_size = size, .ss_flags = 0};
  if (sigaltstack(&stack, NULL) != 0) return 4;
  if (strcmp(arguments[1], "ABRT") == 0) abort();
  if (strcmp(arguments[1], "FPE") == 0) raise(SIGFPE);
  if (strcmp(arguments[1], "ILL") == 0) __builtin_trap();
  if (strcmp(arguments[1], "SEGV") == 0) *(volatile int *)16 = 1;
  return 5;
}
