// SPDX-License-Identifier: MIT
// A byte is written into a register that held the address of a jump table, or of the code where it led. What is left of the register
// still looks like such an address, and the byte keeps its value.
// variants: -O2 | -O2 -no-pie -fno-pie
#include "hazard.h"

// As compiled code does with a flag: `part` lies in `whole`, where the address was. rbx is one that calls preserve.
#define WALK(name, part, whole)                                                                       \
  uint64_t name(uint64_t which, uint64_t turns, uint64_t byte);                                       \
  __asm__(".pushsection .text." #name ",\"ax\",@progbits\n"                                           \
          ".p2align 4\n.globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n"    \
          "pushq %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbx, -16\n"                             \
          "leaq .L" #name "_table(%rip), %rbx\n"                                                      \
          "movslq (%rbx,%rdi,4), %rcx\n"                                                              \
          "addq %rbx, %rcx\n"                                                                         \
          "jmpq *%rcx\n"                                                                              \
          ".L" #name "_0: movb %dl, " part "\n"                                                       \
          "1: decq %rsi\njnz 1b\njmp .L" #name "_end\n"                                               \
          ".L" #name "_1: notb %dl\nmovb %dl, " part "\n"                                             \
          "1: decq %rsi\njnz 1b\n"                                                                    \
          ".L" #name "_end: movzbl " part ", %eax\n"                                                  \
          "popq %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\nretq\n"                           \
          ".cfi_endproc\n.size " #name ", . - " #name "\n.popsection\n"                               \
          ".pushsection .rodata." #name ",\"a\",@progbits\n.p2align 2\n"                              \
          ".L" #name "_table:\n.long .L" #name "_0 - .L" #name "_table\n"                             \
          ".long .L" #name "_1 - .L" #name "_table\n.popsection\n")
WALK(table_in_preserved, "%bl", "%rbx");
WALK(code_in_other, "%cl", "%rcx");

// The whole of such a register is copied into one that calls preserve, which is a caller's while it calls the function again.
uint64_t leave_in_rax(uint64_t which, uint64_t turns, uint64_t byte);
uint64_t copied(uint64_t which, uint64_t turns, uint64_t byte);
uint64_t callers(uint64_t which, uint64_t turns, uint64_t byte);
__asm__(".pushsection .text.leave_in_rax,\"ax\",@progbits\n"
        ".p2align 4\n.globl leave_in_rax\n.type leave_in_rax, @function\nleave_in_rax:\n.cfi_startproc\n"
        "leaq .Lleave_table(%rip), %rax\nmovslq (%rax,%rdi,4), %rcx\naddq %rax, %rcx\njmpq *%rcx\n"
        ".Lleave_0: movb %dl, %al\nretq\n"
        ".Lleave_1:\n1: decq %rsi\njnz 1b\nretq\n"
        ".cfi_endproc\n.size leave_in_rax, . - leave_in_rax\n.popsection\n"
        ".pushsection .rodata.leave,\"a\",@progbits\n.p2align 2\n"
        ".Lleave_table:\n.long .Lleave_0 - .Lleave_table\n.long .Lleave_1 - .Lleave_table\n.popsection\n"
        ".pushsection .text.callers,\"ax\",@progbits\n"
        ".p2align 4\n.globl callers\n.type callers, @function\ncallers:\n.cfi_startproc\n"
        "pushq %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbx, -16\n"
        "xorl %edi, %edi\ncallq leave_in_rax\nmovq %rax, %rbx\n"
        "movl $1, %edi\ncallq leave_in_rax\nmovzbl %bl, %eax\n"
        "popq %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\nretq\n"
        ".cfi_endproc\n.size callers, . - callers\n.popsection\n"
        ".pushsection .text.copied,\"ax\",@progbits\n"
        ".p2align 4\n.globl copied\n.type copied, @function\ncopied:\n.cfi_startproc\n"
        "pushq %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbx, -16\n"
        "leaq .Lcopied_table(%rip), %rax\nmovslq (%rax,%rdi,4), %rcx\naddq %rax, %rcx\njmpq *%rcx\n"
        ".Lcopied_0: movb %dl, %al\nmovq %rax, %rbx\n"
        ".Lcopied_1:\n1: decq %rsi\njnz 1b\nmovzbl %bl, %eax\n"
        "popq %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\nretq\n"
        ".cfi_endproc\n.size copied, . - copied\n.popsection\n"
        ".pushsection .rodata.copied,\"a\",@progbits\n.p2align 2\n"
        ".Lcopied_table:\n.long .Lcopied_0 - .Lcopied_table\n.long .Lcopied_1 - .Lcopied_table\n.popsection\n");

int main(void) {
  uint64_t turns = 0;
  for (double end = section(1); before(end); ++turns) {
    const uint64_t byte = turns % 256;
    CHECK(table_in_preserved(0, 200000, byte) == byte);
    CHECK(table_in_preserved(1, 200000, byte) == 255 - byte);
    CHECK(code_in_other(0, 200000, byte) == byte);
    CHECK(code_in_other(1, 200000, byte) == 255 - byte);
    CHECK(copied(0, 200000, byte) == byte);
    CHECK(callers(0, 200000, byte) == byte);
  }
  puts("every byte was as it had been set");
  return 0;
}
