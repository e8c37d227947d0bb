// SPDX-License-Identifier: MIT
// A function by hand that learns by a call of its next instruction where it is, as code for 32 bits does. It reads data whose
// distance from there the assembler knew, so that no relocation tells of it; and it hands the place out, where it is kept.
// variants: -O0 | -O2 | -O2 -fno-pie -no-pie
#include "hazard.h"

__asm__(
    ".text\n.p2align 4\n.globl reads_near\n.type reads_near, @function\nreads_near:\n"
    "  call 1f\n1: popq %rax\n  movl near_by-1b(%rax,%rdi,4), %eax\n  ret\n.size reads_near, .-reads_near\n"
    "near_by: .long 0x11111111, 0x22222222\n"
    ".p2align 4\n.globl its_place\n.type its_place, @function\nits_place:\n"
    "  testl %edi, %edi\n  jnz 2f\n  call 1f\n1: popq %rax\n  addq $2f-1b, %rax\n  ret\n"
    "2: leal 1(%rdi), %eax\n  ret\n.size its_place, .-its_place\n");
uint32_t reads_near(long which);
uint32_t (*its_place(int zero))(uint32_t value);

int main(void) {
  uint32_t (*const kept)(uint32_t) = its_place(0);
  for (double end = section(1); before(end);) {
    CHECK(reads_near(0) == 0x11111111 && reads_near(1) == 0x22222222);
    CHECK(kept(41) == 42);
    CHECK(its_place(0) == kept);
    work_once();
  }
  puts("done");
}
