// SPDX-License-Identifier: MIT
// Places in the code that are kept where a walk of the frames does not come by: a caller's registers in the red zone of a leaf, the
// address in a signal's siginfo, frames below a handler that nobody can unwind.
// variants: -O0 | -O2
#include "hazard.h"
#include <signal.h>
#include <ucontext.h>

// spin(rdi): saves all registers of its caller in the red zone, and its description says so. spin_unseen(rdi) has no description.
void spin(long rounds);
void spin_unseen(long rounds);
__asm__(".text\n.p2align 4\n.globl spin\n.type spin, @function\nspin:\n  .cfi_startproc\n"
        "  movq %rbx, -16(%rsp)\n  .cfi_offset rbx, -24\n  movq %rbp, -24(%rsp)\n  .cfi_offset rbp, -32\n"
        "  movq %r12, -32(%rsp)\n  .cfi_offset r12, -40\n  movq %r13, -40(%rsp)\n  .cfi_offset r13, -48\n"
        "  movq %r14, -48(%rsp)\n  .cfi_offset r14, -56\n  movq %r15, -56(%rsp)\n  .cfi_offset r15, -64\n"
        "  xorl %ebx, %ebx\n  xorl %ebp, %ebp\n  xorl %r12d, %r12d\n  xorl %r13d, %r13d\n  xorl %r14d, %r14d\n  xorl %r15d, %r15d\n"
        "1:\n  decq %rdi\n  jnz 1b\n"
        "  movq -16(%rsp), %rbx\n  movq -24(%rsp), %rbp\n  movq -32(%rsp), %r12\n  movq -40(%rsp), %r13\n  movq -48(%rsp), %r14\n"
        "  movq -56(%rsp), %r15\n  ret\n  .cfi_endproc\n.size spin, .-spin\n"
        ".p2align 4\n.globl spin_unseen\n.type spin_unseen, @function\nspin_unseen:\n  pushq %rbx\n  movq %rdi, %rbx\n"
        "1:\n  decq %rbx\n  jnz 1b\n  popq %rbx\n  ret\n.size spin_unseen, .-spin_unseen\n");

enum { FEW = 100, MANY = 12000000, CODES = 30 };
static volatile unsigned sink;

// Holds the address of its jump table in a register.
NOINLINE static unsigned interpret(const unsigned char *code, long rounds) {
  unsigned a = 1;
  for (int i = 0; i < CODES; ++i) {
    switch (code[i]) {
    case 0: a = a * 3 + 1; break;
    case 1: a ^= a >> 3; break;
    case 2: a += 0x1234567; break;
    case 3: a = a * 5 - 7; break;
    case 4: a ^= a << 5; break;
    case 5: a -= 99; break;
    case 6: a = ~a; break;
    case 7: a = a * a + 1; break;
    case 8: a = (a << 7) | (a >> 25); break;
    case 9: sink = a; break;
    }
    spin(rounds);
  }
  return a;
}

static void red_zones(void) {
  unsigned char code[CODES];
  for (int i = 0; i < CODES; ++i) code[i] = (unsigned char)(i * 7 % 10);
  const unsigned right = interpret(code, 1);
  for (double end = section(0.1); before(end);) CHECK(interpret(code, FEW) == right);
  for (double end = section(0.3); before(end);) CHECK(interpret(code, MANY / CODES) == right);
}

static double part;
static volatile int traps;

static void on_trap(int number, siginfo_t *info, void *context) {
  (void)number;
  const unsigned char *place = info->si_addr;
  for (double end = section(part); before(end);) work_once();
  CHECK(place[0] == 0x0f && place[1] == 0x0b);
  ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
  traps = traps + 1;
}

NOINLINE static int trap(int x) {
  volatile char array[64];
  array[0] = (char)x;
  __asm__ volatile("ud2");
  return array[0] + 1;
}

NOINLINE static int dig(int depth, int (*bottom)(int)) {
  volatile char array[300];
  array[0] = (char)depth;
  return depth > 0 ? dig(depth - 1, bottom) + array[0] : bottom(1);
}

static void set_handler(int number, void (*handler)(int, siginfo_t *, void *), int flags) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
  CHECK(sigaction(number, &action, NULL) == 0);
}

static void faults(int flags) {
  enum { TIMES = 6 };
  set_handler(SIGILL, on_trap, flags);
  part = 0.15 / TIMES;
  traps = 0;
  for (int i = 0; i < TIMES; ++i) CHECK(dig(3 * i, trap) == 2 + 3 * i * (3 * i + 1) / 2);
  CHECK(traps == TIMES);
}

static void on_user_signal(int number, siginfo_t *info, void *context) {
  (void)number, (void)info, (void)context;
  for (double end = section(0.05); before(end);) spin_unseen(MANY);
}

NOINLINE static int signal_myself(int x) {
  CHECK(raise(SIGUSR1) == 0);
  return x + 1;
}

static void unseen_handlers(void) {
  set_handler(SIGUSR1, on_user_signal, SA_ONSTACK);
  for (int i = 0; i < 5; ++i) {
    CHECK(dig(5, signal_myself) == 17);
    work_ms(0.01 * whole_ms());
  }
}

int main(void) {
  const stack_t other = {.ss_sp = malloc(65536), .ss_size = 65536};
  CHECK(other.ss_sp && sigaltstack(&other, NULL) == 0);
  work_ms(0.05 * whole_ms());
  red_zones();
  faults(0);
  faults(SA_ONSTACK);
  unseen_handlers();
  puts("all places were there");
  return 0;
}
