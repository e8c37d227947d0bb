#!/bin/bash
# SPDX-License-Identifier: MIT
# szc_frames_test.sh SOURCE BUILD: the post-link step believes a record of the pass only as far as the code and its frame
# description bear it out. Functions in assembly, each with a record, and what is to be said of them.
set -u
. "$1/tests/lib.sh"

# define NAME FLAGS: its code from standard input, with the record of an object at 0(%rsp).
define() {
  cat <<S
.section .text.$1,"ax",@progbits
.p2align 4
.globl $1
.type $1,@function
$1:
.cfi_startproc
$(cat)
.cfi_endproc
.size $1,.-$1
.section .szc_frames,"",@progbits
.quad $1
.byte $2, 4
lea 0(%rsp), %rax
S
}
grow='sub $0x98, %rsp
.cfi_def_cfa_offset 160'
shrink='add $0x98, %rsp
.cfi_def_cfa_offset 8
ret'
{
  define good 1 <<<"$grow
call leaf
$shrink"
  define argument 1 <<<"$grow
mov 160(%rsp), %rax
call leaf
$shrink"
  define stack_arguments 0 <<<"$grow
call leaf
$shrink"
  define undescribed 1 <<<'sub $0x98, %rsp
call leaf
add $0x98, %rsp
ret'
  define unequal 1 <<<"$grow
call leaf
add \$0xa0, %rsp
.cfi_def_cfa_offset 8
ret"
  define unbalanced 1 <<<"$grow
call leaf
ret"
  define by_lea 1 <<<'lea -0x98(%rsp), %rsp
.cfi_def_cfa_offset 160
call leaf
add $0x98, %rsp
.cfi_def_cfa_offset 8
ret'
  define small 1 <<<'sub $0x18, %rsp
.cfi_def_cfa_offset 32
call leaf
add $0x18, %rsp
.cfi_def_cfa_offset 8
ret'
  define stored 1 <<<"$grow
mov %rsp, (%rdi)
call leaf
$shrink"
  define left 1 <<<"$grow
jmp leaf"
  define entered 1 <<<"$grow
.globl inside
inside: call leaf
$shrink"
  define mixed 0 <<<'push %rbp
.cfi_def_cfa_offset 16
mov %rsp, %rbp
.cfi_def_cfa_register %rbp
sub $0x98, %rsp
mov %eax, 64(%rsp)
mov -100(%rbp), %eax
call leaf
leave
.cfi_def_cfa %rsp, 8
ret'
  define framed 0 <<<'push %rbp
.cfi_def_cfa_offset 16
mov %rsp, %rbp
.cfi_def_cfa_register %rbp
sub $0x98, %rsp
mov %eax, 8(%rsp)
mov -100(%rbp), %eax
call leaf
leave
.cfi_def_cfa %rsp, 8
ret'
  cat <<'S'
.section .text.jumper,"ax",@progbits
.p2align 4
.globl jumper
.type jumper,@function
jumper: jmp inside
.size jumper,.-jumper
.section .text.leaf,"ax",@progbits
.p2align 4
.globl leaf
.type leaf,@function
leaf: ret
.size leaf,.-leaf
.section .note.GNU-stack,"",@progbits
S
} >"$work/functions.s"
# A program of its own: what switches stacks makes pads small in all functions.
{
  define by_register 1 <<<"$grow
mov %rdi, %rsp
call leaf
$shrink"
  cat <<'S'
.section .text.leaf,"ax",@progbits
.globl leaf
.type leaf,@function
leaf: ret
.size leaf,.-leaf
.section .note.GNU-stack,"",@progbits
S
} >"$work/switch.s"
echo 'void good(void); int main(void) { good(); return 0; }' >"$work/main.c"
echo 'int main(void) { return 0; }' >"$work/empty.c"
"$szc" -w -o "$work/program" "$work/main.c" "$work/functions.s" -Wl,--no-gc-sections || { echo "it does not build"; exit 1; }
"$szc" -w -o "$work/switching" "$work/empty.c" "$work/switch.s" -Wl,--no-gc-sections || { echo "it does not build"; exit 1; }
{ "$szc" --stab-explain "$work/program"; "$szc" --stab-explain "$work/switching"; } >"$work/explained"

# says NAME TEXT
says() {
  grep -q " $1: $2" "$work/explained" && return
  echo "FAILED: $1: not '$2' but: $(grep " $1:" "$work/explained")"
  failures=$((failures + 1))
}
says good 'pads of up to 4080 bytes'
says framed 'pads of up to 4080 bytes'
says argument 'no pads, because the function uses the stack pointer to access memory above its frame'
says stack_arguments 'no pads, because the function may have arguments on the stack, but has no frame pointer'
says undescribed 'no pads, because the function'\''s code and its frame description disagree'
says unequal 'no pads, because the function changes the stack pointer in a way that szc does not understand'
says unbalanced 'no pads, because szc does not understand all paths through the function'\''s code'
says by_register 'no pads, because the function changes the stack pointer in a way that szc does not understand'
says by_lea 'no pads, because the size of the function'\''s frame does not fit in 32 bits'
says small 'no pads, because the size of the function'\''s frame does not fit in 32 bits'
says stored 'no pads, because the function changes the stack pointer in a way that szc does not understand'
says left 'no pads, because szc does not understand all paths through the function'\''s code'
says entered 'no pads, because other code jumps into the function'
says mixed 'no pads, because the function may access one part of its frame in two ways'
says leaf 'no pads, because the function makes no calls'
for options in stack=0 stack=1:code=0 stack=1:seed=3; do
  STABILIZER_OPTIONS=$options "$work/program" || { echo "FAILED: it ends with $? under $options"; failures=$((failures + 1)); }
done
finish
