// SPDX-License-Identifier: MIT
// Functions of C whose bytes or range the program uses: one is copied and run elsewhere, one gets a jump written over its
// entry, one is known to a handler of faults by where it begins and ends. (Not static: those come in the order of their use.)
// variants: -O0 | -O1 | -O2 | -O2 -fno-pie -no-pie | -O2 -flto
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline))
NOINLINE int copied(int x) {
  int sum = 0;
  for (int i = 0; i < x; i++) sum += i * x;
  return sum;
}
NOINLINE void copied_ends(void) { __asm__ volatile(""); }

NOINLINE static int hooked(int x) {
  __asm__ volatile("nop;nop;nop;nop;nop;nop;nop;nop;nop;nop;nop;nop;nop;nop");
  return x + 1;
}
NOINLINE static int hook(int x) {
  __asm__ volatile("");
  return x + 1000;
}
static int (*volatile pointer)(int) = hooked;
static void set_hook(void) {
  void *page = (void *)((uintptr_t)hooked & ~(uintptr_t)4095);
  unsigned char jump[14] = {0xff, 0x25, 0, 0, 0, 0};
  int (*const target)(int) = hook;
  memcpy(jump + 6, &target, 8);
  if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) perror("mprotect");
  memcpy((void *)hooked, jump, sizeof jump);
  if (mprotect(page, 8192, PROT_READ | PROT_EXEC) != 0) perror("mprotect");
}

static sigjmp_buf back;
static volatile int *volatile nowhere = (int *)16;
NOINLINE int may_fault(volatile int *at) { return *at; }
NOINLINE void may_fault_ends(void) { __asm__ volatile(""); }
static void on_fault(int number, siginfo_t *about, void *context) {
  const uintptr_t at = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
  (void)about;
  if (at >= (uintptr_t)may_fault && at < (uintptr_t)may_fault_ends) siglongjmp(back, 1);
  signal(number, SIG_DFL);
}

int main(void) {
  static int is_hooked;
  const long size = (char *)copied_ends - (char *)copied;
  char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(memory, (void *)copied, size > 0 && size < 4096 ? (size_t)size : 256);
  printf("%d %d\n", ((int (*)(int))memory)(10), copied(10));
  copied_ends();
  munmap(memory, 8192);

  if (!is_hooked) set_hook();
  is_hooked = 1;
  printf("%d %d\n", hooked(1), pointer(1));

  struct sigaction action, before;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before);
  may_fault_ends();
  puts(sigsetjmp(back, 1) == 0 ? (may_fault(nowhere), "read") : "skipped");
  fflush(stdout);
  sigaction(SIGSEGV, &before, NULL);
  return 0;
}
