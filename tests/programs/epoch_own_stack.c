// SPDX-License-Identifier: MIT
// Code that sets the stack pointer in many ways and never leaves its stack: objects of variable size, over-aligned frames, the
// aligning prologue and epilogue of nasm's users, and a context that is only read. Layouts are forgotten all the same.
// variants: -O0 | -O2 | -O2 -fno-omit-frame-pointer
// compilers: szc gcc
#include "hazard.h"
#include <alloca.h>
#include <ucontext.h>

// The block is written at its start and by a pointer: copies of the stack pointer in two registers.
NOINLINE static uint32_t with_block(const char *text, int more) {
  char *block = alloca(strlen(text) + (size_t)more + 15);
  char *end = stpcpy(block, "unexpected `");
  end = stpcpy(end, text);
  stpcpy(end, "'");
  return (uint32_t)strlen(block) + work(3);
}
// Objects that come and go in a loop, of which parts are given away.
NOINLINE static uint32_t with_arrays(int count) {
  uint32_t sum = 0;
  for (int i = 1; i < count; ++i) {
    uint32_t values[i], other[4] = {0};
    for (int k = 0; k < i; ++k) values[k] = (uint32_t)k;
    memcpy(other, values, sizeof values[0]);
    sum += values[i - 1] + other[0];
    switch (sum % 7) {
    case 0: sum += work(2); break;
    case 1: sum ^= work(5); break;
    case 2: sum *= 3; break;
    case 3: sum += (uint32_t)strlen("abc"); break;
    case 4: sum -= 1; break;
    default: sum += 2;
    }
  }
  return sum;
}
NOINLINE static uint32_t over_aligned(int count) {
  _Alignas(64) volatile char block[128] = {0};
  char more[count];
  memset(more, 1, sizeof more);
  return (uint32_t)((uintptr_t)block % 64) + (uint32_t)more[count - 1] + work(2);
}
// The old stack pointer lies where the aligned one points.
uint32_t by_hand(uint32_t value);
__asm__(".text\n.p2align 4\n.globl by_hand\n.type by_hand, @function\nby_hand:\n"
        "  pushq %rbp\n  movq %rsp, %rax\n  subq $4, %rsp\n  andq $-16, %rsp\n  movq %rax, (%rsp)\n"
        "  movq %rsp, %rbp\n  leaq -64(%rbp), %rsp\n  movl %edi, -8(%rbp)\n  movl -8(%rbp), %eax\n  addl $1, %eax\n"
        "  movq %rbp, %rsp\n  popq %rsp\n  popq %rbp\n  ret\n"
        ".size by_hand, . - by_hand\n");
NOINLINE static int reads_registers(void) {
  ucontext_t registers;
  CHECK(getcontext(&registers) == 0);
  return registers.uc_mcontext.gregs[REG_RSP] != 0;
}

int main(void) {
  const uint32_t block = with_block("IDENTIFIER", 30), arrays = with_arrays(20), aligned = over_aligned(100);
  for (double end = section(1); before(end);) {
    CHECK(with_block("IDENTIFIER", 30) == block);
    CHECK(with_arrays(20) == arrays);
    CHECK(over_aligned(100) == aligned);
    CHECK(by_hand(41) == 42);
    CHECK(reads_registers());
    work_once();
  }
  puts("always on the own stack");
  return 0;
}
