// SPDX-License-Identifier: MIT
// Hand-written functions with sizes that a handler of faults knows by labels: where they may fault, and where they end.
// variants: -O0 | -O2 | -O2 -fno-pie -no-pie
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

// Reads a word, or gives the number that it got for the case that there is none.
__asm__(
    ".text\n.globl fetch\n.type fetch,@function\n.p2align 4\nfetch:\n  movl %esi, %eax\n"
    "fetch_faults: movl (%rdi), %eax\nfetch_goes_on: ret\n.size fetch, .-fetch\n"
    // The same, by its range.
    ".globl peek\n.type peek,@function\n.p2align 4\npeek:\n  movl (%rdi), %eax\n  ret\npeek_ends:\n.size peek, .-peek\n"
    ".data\n.p2align 3\n.globl places\nplaces: .quad fetch_faults, fetch_goes_on, peek, peek_ends\n.text\n");
int fetch(const int *from, int otherwise);
int peek(const int *from);
extern char *const places[];

static void handle(int number, siginfo_t *info, void *context) {
  (void)number, (void)info;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  char *at = (char *)registers[REG_RIP];
  if (at == places[0]) {
    registers[REG_RIP] = (greg_t)places[1];
  } else if (at >= places[2] && at < places[3]) {
    registers[REG_RAX] = -2;
    registers[REG_RIP] = *(greg_t *)registers[REG_RSP];
    registers[REG_RSP] += 8;
  } else {
    signal(SIGSEGV, SIG_DFL);
  }
}

int main(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, NULL);
  const int there = 7;
  const int *nowhere = (const int *)24;
  printf("%d %d ", fetch(&there, -1), fetch(nowhere, -1));
  fflush(stdout);
  printf("%d %d\n", peek(&there), peek(nowhere));
  return 0;
}
