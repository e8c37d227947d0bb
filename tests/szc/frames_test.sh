#!/bin/bash
# SPDX-License-Identifier: MIT
# frames_test.sh SOURCE BUILD: the post-link step believes a record of the pass only as far as the code and its frame
# description bear it out, and pads functions without a record only if their code would not notice. Functions in assembly,
# and what is to be said of them.
set -u
. "$1/tests/lib.sh"

# other NAME: a function of another compiler, its code from standard input.
other() {
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
S
}

# define NAME FLAGS: the same, with the record of an object at 0(%rsp).
define() {
  other "$1"
  cat <<S
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
# frame BYTES, unframe BYTES: a frame of so many bytes, and its end.
frame() { echo "sub \$$1, %rsp"; echo ".cfi_def_cfa_offset $(($1 + 8))"; }
unframe() { echo "add \$$1, %rsp"; echo ".cfi_def_cfa_offset 8"; }
# simple NAME BYTES [CODE]: a function with such a frame that runs the code, then calls leaf.
simple() { { frame "$2"; echo "${3-}"; echo "call leaf"; unframe "$2"; echo ret; } | other "$1"; }
base='push %rbp
.cfi_def_cfa_offset 16
.cfi_offset %rbp, -16
mov %rsp, %rbp
.cfi_def_cfa_register %rbp
sub $0x20, %rsp'
unbase='call leaf
leave
.cfi_def_cfa %rsp, 8
ret'
{
  simple byte 24 'mov %edi, 8(%rsp)'
  simple byte_88 88
  simple byte_104 104
  simple word 0x98 'lea 8(%rsp), %rax'
  { frame 0x98; echo 'call again'; unframe 0x98; echo ret; } | other again
  other negative_byte <<<'add $-128, %rsp
.cfi_def_cfa_offset 136
call leaf
sub $-128, %rsp
.cfi_def_cfa_offset 8
ret'
  other negative_word <<<"add \$-0x98, %rsp
.cfi_def_cfa_offset 160
call leaf
$shrink"
  simple saved 40 'mov %rbx, 32(%rsp)
.cfi_offset %rbx, -16
mov 32(%rsp), %rbx'
  simple expression 24 '.cfi_escape 0x10, 3, 2, 0x77, 8'
  simple incoming 24 'mov 32(%rsp), %rax'
  simple derived 24 'mov %rsp, %rax
mov 32(%rax), %rcx'
  simple indexed 24 'mov (%rsp,%rdi,8), %rax'
  simple counted 24 'lea 8(%rsp), %rax
add %rdi, %rax'
  simple remembering 24 'lea 8(%rsp), %rax
mov %rax, kept(%rip)
cmp %rax, kept(%rip)'
  { frame 24; echo 'call leaf'; unframe 24; echo 'mov %rax, 8(%rsp)'; echo 'jmp leaf'; } | other tail_argument
  other pushed <<<'push %rax
.cfi_def_cfa_offset 16
call leaf
add $8, %rsp
.cfi_def_cfa_offset 8
ret'
  { frame 24; echo 'push %rax
.cfi_def_cfa_offset 40
push %rax
.cfi_def_cfa_offset 48
call leaf'; unframe 40; echo ret; } | other pushed_arguments
  other based <<<"$base
mov %edi, -4(%rbp)
$unbase"
  other based_both <<<"$base
mov %edi, 8(%rsp)
$unbase"
  other helper_above <<<'mov 40(%rsp), %rax
ret'
  other calls_above <<<'push %rbx
.cfi_def_cfa_offset 16
.cfi_offset %rbx, -16
sub $32, %rsp
.cfi_def_cfa_offset 48
call helper_above
add $32, %rsp
.cfi_def_cfa_offset 16
pop %rbx
.cfi_def_cfa_offset 8
ret'
  other calls_within <<<'sub $40, %rsp
.cfi_def_cfa_offset 48
call helper_above
add $40, %rsp
.cfi_def_cfa_offset 8
ret'
  other jumps_above <<<'jmp helper_above'
  { frame 24; echo 'call jumps_above'; unframe 24; echo ret; } | other calls_jump
  other circle_above <<<'test %edi, %edi
jne circle_back
mov 40(%rsp), %rax
ret'
  other circle_back <<<'jmp circle_above'
  { frame 24; echo 'call circle_back'; unframe 24; echo ret; } | other calls_circle
  { frame 24; echo 'call circle_above'; unframe 24; echo ret; } | other calls_circle_too
  other helper_by_register <<<'mov %rsp, %rax
.cfi_def_cfa_register %rax
mov 64(%rax), %rcx
.cfi_def_cfa %rsp, 8
ret'
  { frame 24; echo 'call helper_by_register'; unframe 24; echo ret; } | other calls_by_register
  other helper_pops <<<'call leaf
add $40, %rsp
ret'
  { frame 24; echo 'call helper_pops'; unframe 24; echo ret; } | other calls_pops
  other unsaved <<<'push %rdi
.cfi_def_cfa_offset 16
sub $32, %rsp
.cfi_def_cfa_offset 48
call leaf
add $32, %rsp
.cfi_def_cfa_offset 16
pop %rdi
.cfi_def_cfa_offset 8
ret'
  other popped <<<'test %edi, %edi
je 1f
push %rbx
.cfi_def_cfa_offset 16
.cfi_offset %rbx, -16
call leaf
pop %rbx
.cfi_def_cfa_offset 8
1: push %rdi
.cfi_def_cfa_offset 16
sub $32, %rsp
.cfi_def_cfa_offset 48
call leaf
add $32, %rsp
.cfi_def_cfa_offset 16
pop %rdi
.cfi_def_cfa_offset 8
ret'
  other based_below <<<"$base
push %rdi
push %rdi
mov -56(%rbp), %rax
$unbase"
  other based_late <<<'test %rdi, %rdi
jne 1f
sub $24, %rsp
.cfi_def_cfa_offset 32
call leaf
1: .cfi_def_cfa_offset 8
push %rbp
.cfi_def_cfa_offset 16
.cfi_offset %rbp, -16
mov %rsp, %rbp
.cfi_def_cfa_register %rbp
call leaf
pop %rbp
.cfi_def_cfa %rsp, 8
ret'
  { frame 24; echo 'mov %rdi, %rax
jmp *%rax
call leaf'; unframe 24; echo ret; } | other jumps_inside
  simple split 24 'test %edi, %edi
jne split.cold'
  simple split_by_table 24 'test %edi, %edi
je 1f
jmp *%rdi
1:'
  cat <<'S'
.section .text.split.cold,"ax",@progbits
.type split.cold,@function
split.cold: ud2
.size split.cold,.-split.cold
.type split_by_table.cold,@function
split_by_table.cold: ud2
.size split_by_table.cold,.-split_by_table.cold
.section .text.leaf,"ax",@progbits
.p2align 4
.globl leaf
.type leaf,@function
leaf: ret
.size leaf,.-leaf
.bss
kept: .quad 0
.section .note.GNU-stack,"",@progbits
S
} >"$work/others.s"
cat >"$work/calls.c" <<'C'
void byte(int), byte_88(void), word(void), pushed_arguments(void), based(int);
int main(void) {
  for (int i = 0; i < 1000; ++i) byte(1), byte_88(), word(), pushed_arguments(), based(2);
  return 0;
}
C
echo 'void good(void); int main(void) { good(); return 0; }' >"$work/main.c"
echo 'int main(void) { return 0; }' >"$work/empty.c"
"$szc" -w -o "$work/program" "$work/main.c" "$work/functions.s" -Wl,--no-gc-sections || { echo "it does not build"; exit 1; }
"$szc" -w -o "$work/switching" "$work/empty.c" "$work/switch.s" -Wl,--no-gc-sections || { echo "it does not build"; exit 1; }
"$szc" -w -o "$work/others" "$work/calls.c" "$work/others.s" -Wl,--no-gc-sections || { echo "it does not build"; exit 1; }
{ "$szc" --stab-explain "$work/program"; "$szc" --stab-explain "$work/switching"; "$szc" --stab-explain "$work/others"; } >"$work/explained"

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
says by_lea 'no pads, because the function'\''s code has no number for the size of its frame that szc could increase'
says small 'no pads, because the function'\''s code has no number for the size of its frame that szc could increase'
says stored 'no pads, because the function changes the stack pointer in a way that szc does not understand'
says left 'no pads, because szc does not understand all paths through the function'\''s code'
says entered 'no pads, because other code jumps into the function'
says mixed 'no pads, because the function may access one part of its frame in two ways'
says leaf 'no pads, because the function makes no calls'
says byte 'pads of up to 80 bytes'
says byte_88 'pads of up to 16 bytes'
says byte_104 'no pads, because the number with the size of the function'\''s frame has too few bits for a pad'
says word 'pads of up to 3920 bytes'
says again 'pads of up to 112 bytes'
says negative_byte 'no pads, because the function'\''s code has no number'
says negative_word 'no pads, because the function'\''s code has no number'
says saved 'no pads, because the function'\''s code and its frame description disagree'
says expression 'no pads, because the function'\''s code and its frame description disagree'
says incoming 'no pads, because the function uses the stack pointer to access memory above its frame'
for name in derived indexed counted; do
  says $name 'no pads, because the function may have arguments on the stack, but has no frame pointer'
done
says remembering 'no pads, because the function may keep an address of its frame and expect a later frame there'
says tail_argument 'no pads, because the function uses the stack pointer to access memory above its frame'
says pushed 'no pads, because the function changes the stack pointer in a way that szc does not understand'
says pushed_arguments 'pads of up to 64 bytes'
says based 'pads of up to 80 bytes'
says based_both 'no pads, because the function may access one part of its frame in two ways'
for name in calls_above calls_jump calls_circle calls_circle_too calls_by_register calls_pops unsaved popped; do
  says $name 'no pads, because the stack above the place of the pad may hold arguments of a call'
done
says calls_within 'pads of up to 64 bytes'
says based_below 'no pads, because the function may access one part of its frame in two ways'
says based_late 'no pads, because the function'\''s code and its frame description disagree'
says jumps_inside 'no pads, because szc does not understand all paths through the function'\''s code'
says split 'no pads, because a part of the function lies elsewhere in the program'
says split_by_table 'no pads, because szc does not understand all paths through the function'\''s code'
for program in program others; do
  for options in stack=0 stack=1:code=0 stack=1:seed=3 stack=1:seed=4 stack=1:period=1ms; do
    STABILIZER_OPTIONS=$options "$work/$program" || { echo "FAILED: $program ends with $? under $options"; failures=$((failures + 1)); }
  done
done
# No pads are made if the user turned them off, or if code in the program knows the sizes of frames.
"$szc" -w --stab-stack=off -o "$work/off" "$work/calls.c" "$work/others.s" -Wl,--no-gc-sections || { echo "it does not build"; exit 1; }
"$szc" --stab-explain "$work/off" | grep 'pads of up to' && { echo "FAILED: --stab-stack=off makes pads"; failures=$((failures + 1)); }
echo 'void __morestack(void) {}' >"$work/split.c"
"$szc" -w -o "$work/knowing" "$work/calls.c" "$work/split.c" "$work/others.s" -Wl,--no-gc-sections || { echo "it does not build"; exit 1; }
"$szc" --stab-explain "$work/knowing" >"$work/explained"
says byte 'no pads, because szc did not add a pad when it compiled the function, and code in the program knows the sizes of frames'
says main 'pads of up to 4080 bytes'
finish
