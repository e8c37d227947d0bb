// SPDX-License-Identifier: MIT
// Inline assembly that refers to other sections, labels of its own, and jumps out of line, one of them to behind the entry
// of another function (Image 1).
// variants: -O0 | -O2 | -O2 -fno-pie -no-pie
#include <stdio.h>

__asm__(
    ".text\n.globl by_hand\n.type by_hand,@function\n.p2align 4\nby_hand:\n"
    "  leal 3(%rdi,%rdi), %eax\n  testl %edi, %edi\n  jz behind\n  ret\nbehind: movl answer(%rip), %eax\n  ret\n"
    ".size by_hand, .-by_hand\n"
    ".globl jumps_behind\n.type jumps_behind,@function\n.p2align 4\njumps_behind:\n"
    "  leal 1(%rdi), %eax\n  testl %edi, %edi\n  jnz 2f\n  jmp behind\n2: ret\n.size jumps_behind, .-jumps_behind\n"
    ".globl unsized\n.type unsized,@function\nunsized:\n  movl $5, %eax\n  ret\n"
    ".section .rodata\n.p2align 2\nanswer: .long 42\n.text\n");
int by_hand(int x);
int jumps_behind(int x);
int unsized(void);
__attribute__((noinline)) static int out_of_line(int x) {
  int r;
  __asm__ volatile(
      "cmpl $10, %1\n\tjg 2f\n\tmovl $1, %0\n3:\n\t"
      ".pushsection .text.aside,\"ax\",@progbits\n2: movl $2, %0\n\tjmp 3b\n\t.popsection"
      : "=r"(r)
      : "r"(x)
      : "cc");
  return r;
}
__attribute__((noinline)) static const char *message(void) {
  const char *p;
  __asm__("leaq 1f(%%rip), %0\n\t.pushsection .rodata.str,\"a\"\n1: .asciz \"from afar\"\n\t.popsection" : "=r"(p));
  return p;
}
int main(void) {
  printf("%d %d %d %d ", by_hand(0), by_hand(8), jumps_behind(0), jumps_behind(8));
  printf("%d %d %d %s\n", unsized(), out_of_line(3), out_of_line(30), message());
  return 0;
}
