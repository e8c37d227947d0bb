// SPDX-License-Identifier: MIT
// Functions by hand whose symbols have no sizes. Where their code shows the sizes they move, while they are active, too, and
// an exception passes. Those that run on, are entered inside, hold data, or bytes that are no instruction, stay and run right.
// At its end it writes which ones it saw elsewhere than in the image (to its errors, because that depends on the options).
// variants: -O0 | -O2 | -O2 -fno-pie -no-pie
#include "hazard.h"

// Each one tells its number to what it calls, and from there the return address is seen.
__asm__(
    ".text\n"
    ".macro begins name\n.p2align 4\n.globl \\name\n.type \\name, @function\n\\name:\n.endm\n"
    ".macro tells number\n  movl $\\number, %edi\n  call here\n.endm\n"
    // Moving.
    "begins by_loop\n  pushq %rbx\n  xorl %ebx, %ebx\nby_loop.next:\n  addl %edi, %ebx\n  decl %edi\n"
    "  jnz by_loop.next\n  tells 0\n  movl %ebx, %eax\n  popq %rbx\n  ret\n"
    "begins calls_back\n  pushq %rbx\n  pushq %rbp\n  subq $8, %rsp\n  movq %rdi, %rbx\n  movl %esi, %ebp\n"
    "1: movl %ebp, %edi\n  call *%rbx\n  decl %ebp\n  jnz 1b\n  tells 1\n  addq $8, %rsp\n  popq %rbp\n"
    "  movl %eax, %eax\n  popq %rbx\n  ret\n"
    "begins counts_down\n  pushq %rbx\n  movl %edi, %ebx\n  tells 2\n  movl %ebx, %edi\n  xorl %eax, %eax\n"
    "  decl %edi\n  jz 1f\n  call counts_down\n1: addl %ebx, %eax\n  popq %rbx\n  ret\n"
    "begins lets_pass\n.cfi_startproc\n  pushq %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\n"
    "  movl $77, %ebx\n  tells 3\n  call throws\n  popq %rbx\n.cfi_def_cfa_offset 8\n  ret\n.cfi_endproc\n"
    "begins goes_on\n  incl %edi\n  jmp by_loop\n"
    // As nasm's code for images: it aligns its frame, fills an object there, and stores below what it saved.
    "begins aligns\n  pushq %rbp\n  movq %rsp, %rax\n  subq $4, %rsp\n  andq $-32, %rsp\n  movq %rax, (%rsp)\n"
    "  movq %rsp, %rbp\n  leaq -0x120(%rbp), %rsp\n  pushq %rbx\n  pushq %r12\n  movq %rdi, %rbx\n  pxor %xmm0, %xmm0\n"
    "  leaq -0x120(%rbp), %rdi\n  movaps %xmm0, (%rdi)\n  movaps %xmm0, 0xf0(%rdi)\n  testl %esi, %esi\n  jz 2f\n  vmovdqa %ymm0, -32(%rbp)\n  vzeroupper\n"
    "2: call *%rbx\n  movl %eax, %r12d\n  tells 9\n  leal 1(%r12), %eax\n  popq %r12\n  popq %rbx\n  movq %rbp, %rsp\n"
    "  popq %rsp\n  popq %rbp\n  ret\n"
    // Staying, but for the one that is run into.
    "begins runs_on\n  pushq %rdi\n  tells 4\n  popq %rdi\n  incl %edi\n"
    "begins is_run_into\n  pushq %rdi\n  tells 5\n  popq %rax\n  ret\n"
    "begins is_entered\n  addl $5, %edi\nis_entered.inside:\n  pushq %rdi\n  tells 6\n  popq %rax\n  ret\n"
    "begins enters\n  addl $7, %edi\n  jmp is_entered.inside\n"
    "begins holds_data\n  pushq %rdi\n  tells 7\n  popq %rdi\n  leal 1(%rdi), %eax\n  addl holds_data.number(%rip), %eax\n"
    "  ret\nholds_data.number: .long 0xc3c3c3c3\n"
    // Any byte of what is not decoded may be a jump to somewhere near.
    ".skip 256, 0xcc\nbegins holds_bytes\n  pushq %rdi\n  tells 8\n  popq %rax\n  jmp 1f\n  .byte 6\n1: ret\n");
extern "C" {
uint32_t by_loop(uint32_t count);
void calls_back(void (*back)(uint32_t), uint32_t count);
uint32_t counts_down(uint32_t count);
void lets_pass();
uint32_t goes_on(uint32_t count);
uint32_t aligns(uint32_t (*back)(), int has_avx);
uint32_t runs_on(uint32_t value);
uint32_t is_run_into(uint32_t value);
uint32_t is_entered(uint32_t value);
uint32_t enters(uint32_t value);
uint32_t holds_data(uint32_t value);
uint32_t holds_bytes(uint32_t value);
extern const char __executable_start, etext;
}

static bool elsewhere[10];
extern "C" __attribute__((noinline)) void here(uint32_t number) {
  const char *place = static_cast<const char *>(__builtin_return_address(0));
  if (place < &__executable_start || place >= &etext) elsewhere[number] = true;
}
extern "C" __attribute__((noinline)) void throws() { throw 5; }

static uint32_t called;
NOINLINE static void back(uint32_t number) { called += number + 0 * work(3); }
static uint32_t for_some_epochs() {
  work_ms(9);
  return work(WORK);
}
NOINLINE static int caught() {
  try {
    lets_pass();
  } catch (int value) {
    return value;
  }
  return 0;
}

int main() {
  for (double end = section(1); before(end);) {
    CHECK(by_loop(10) == 55);
    called = 0;
    calls_back(back, 100);
    CHECK(called == 5050);
    CHECK(counts_down(20) == 210);
    CHECK(caught() == 5);
    CHECK(goes_on(9) == 55);
    CHECK(aligns(for_some_epochs, __builtin_cpu_supports("avx")) == WORKED + 1);
    CHECK(runs_on(3) == 4 && is_run_into(3) == 3);
    CHECK(is_entered(3) == 8 && enters(3) == 10);
    CHECK(holds_data(3) == 4u + 0xc3c3c3c3 && holds_bytes(3) == 3);
  }
  fputs("elsewhere:", stderr);
  for (int i = 0; i < 10; ++i)
    if (elsewhere[i]) fprintf(stderr, " %d", i);
  fputs("\n", stderr);
  puts("done");
}
