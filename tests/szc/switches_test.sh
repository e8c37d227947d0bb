#!/bin/bash
# SPDX-License-Identifier: MIT
# switches_test.sh SOURCE BUILD: whatever way a program switches stacks, it is seen, named by --stab-explain and in the report,
# and runs right while functions move and frames have pads; programs that stay on their stack are not taken for such.
set -u
. "$1/tests/lib.sh"
. "$source_directory/tests/programs/build.sh"
make() { build "$work" "$programs/$1" "${3:-$szc}" "$szc" "$2" >"$work/log" 2>&1 || { fail "$1 $2 does not build"; cat "$work/log"; }; }
explain() { "$szc" --stab-explain "$work/program"; }
# runs TITLE OPTIONS
runs() {
  rm -f "$work/report"
  HAZARD_MS=${3:-300} run "$work" "$2:report=$work/report" >"$work/result"
  grep -qx 'exit 0' "$work/result" || fail "$1, $2: $(tail -n 2 "$work/result" "$work/errors" "$work/report")"
}

for how in 1 2 3 4 5 6; do
  make epoch_switches.c "-O2 -DHOW=$how"
  explain | grep -q 'all layouts are kept.* swap_stacks ' || fail "HOW=$how: not seen"
  runs "HOW=$how" code=1:budget=off:period=2ms:seed=1
  tail -n 1 "$work/report" | grep -q '"layouts_stay_for": "swap_stacks"' || fail "HOW=$how: not in the report: $(tail -n 1 "$work/report")"
done

make epoch_little_stacks.c -O2
for seed in 1 2 3 4 5 6; do
  runs "little stacks" "stack=1:rerandomize=once:seed=$seed" 20
  runs "little stacks" "code=1:stack=1:budget=off:period=2ms:seed=$seed" 100
done
grep -q '"pads_small_for": "swap_stacks"' "$work/report" || fail "small pads are not in the report"

for flags in -O0 -O2 "-O2 -flto"; do
  make epoch_own_stack.c "$flags"
  explain | grep 'all layouts are kept' && fail "epoch_own_stack.c $flags is taken for a switch"
done
make epoch_own_stack.c -O2 gcc
explain | grep 'all layouts are kept' && fail "epoch_own_stack.c by gcc is taken for a switch"
for mode in table off; do
  own_flags=--stab-stack=$mode make epoch_own_stack.c -O0
  explain | grep 'all layouts are kept' && fail "--stab-stack=$mode: epoch_own_stack.c is taken for a switch"
done
# A call of exit never returns, and a jump to the end of a function that ends in a call of __cxa_throw is never reached.
cat >"$work/ends.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) int work(int i) { return i * 3 + 1; }
int sum;
int main(int count, char **arguments) {
  for (int i = 0; i < count; i++) sum += work(i);
  if (__builtin_expect(count < 4, 1)) {
    puts("the end");
    puts("of the program");
    fflush(stdout);
    exit(0);
  }
  for (int i = 0; i < sum; i++) sum += work(i);
  const int a = work(1), b = work(2), c = work(3), d = work(4), e = work(5), f = work(6);
  printf("%d %d %d %d %d %d %s\n", a, b, c, d, e, f, arguments[0]);
  printf("%d %d %d %d %d %d %s\n", f, b, d, c, e, a, arguments[0]);
  puts("the end");
  puts("of the program");
  fflush(stdout);
  exit(0);
}
C
cat >"$work/throws.cpp" <<'C'
#include <cstdio>
#include <exception>
struct Thrown : std::exception {};
__attribute__((noinline)) void hurl(unsigned n) {
  if (n < 10) throw Thrown();
  throw "what?";
}
int main() {
  for (unsigned i = 0; i < 25; i++) {
    try {
      hurl(i);
    } catch (std::exception &) {
      std::puts("exception");
    } catch (...) {
      std::puts("unknown");
    }
  }
}
C
# So it is by a function of the program's own that never returns, and not by one that may.
sed 's/^int sum;/int sum;\n__attribute__((noinline, noreturn)) static void die(int n) {\n  puts("dies");\n  exit(n);\n}/; s/exit(0);/die(0);/' "$work/ends.c" >"$work/dies.c"
for flags in -O0 -O1 -O2 -Os; do
  "$szc" $flags -w -o "$work/program" "$work/dies.c" || fail "dies.c $flags does not build"
  explain | grep 'all layouts are kept' && fail "dies.c $flags is taken for a switch"
done
for flags in -O0 -O1 -O2 -Os; do
  "$szc" $flags -w -o "$work/program" "$work/ends.c" || fail "ends.c $flags does not build"
  explain | grep 'all layouts are kept' && fail "ends.c $flags is taken for a switch"
  "$szc++" $flags -w -o "$work/program" "$work/throws.cpp" || fail "throws.cpp $flags does not build"
  explain | grep 'all layouts are kept' && fail "throws.cpp $flags is taken for a switch"
done
# A program's own exit may return.
cat >"$work/returns.s" <<'S'
.globl main
.type main, @function
main:
  pushq %rbx
  movq %rsp, %rbx
  movl %edi, %ecx
  testl %ecx, %ecx
  je 1f
  movq %rsi, %rbx
  call exit
1: movq %rbx, %rsp
  popq %rbx
  xorl %eax, %eax
  ret
.size main, .-main
.globl exit
.type exit, @function
OWN
S
sed 's/^OWN$/exit: ret\n.size exit, .-exit/' "$work/returns.s" >"$work/own.s"
sed 's/^OWN$/exit: test %edi, %edi\njne 1f\nhlt\n1: jmp abs\n.size exit, .-exit/' "$work/returns.s" >"$work/may.s"
sed 's/^OWN$/exit: test %edi, %edi\njne 1f\nhlt\n1: call abort\n.size exit, .-exit/' "$work/returns.s" >"$work/never.s"
"$szc" --stab-quiet -o "$work/program" "$work/may.s" && explain | grep -q 'all layouts are kept.* main ' || fail "a function that may return by a jump is taken for one that never returns"
"$szc" --stab-quiet -o "$work/program" "$work/never.s" && explain | grep 'all layouts are kept' && fail "a function that never returns is taken for one that does"
sed '/^OWN$/d; /\(globl\|type\) exit/d' "$work/returns.s" >"$work/libc.s"
"$szc" --stab-quiet -o "$work/program" "$work/own.s" && explain | grep -q 'all layouts are kept.* main ' || fail "an exit of the program's own is taken for one that never returns"
"$szc" --stab-quiet -o "$work/program" "$work/libc.s" && explain | grep 'all layouts are kept' && fail "libc's exit is taken for one that returns"

make exceptions.cpp "-O0 -std=c++14 -w"
explain | grep 'all layouts are kept' && fail "exceptions.cpp is taken for a switch"
readelf -SW "$work/program" | grep -q szc_compiled && fail "the records are left in the program"

# A library's small stacks hold frames of the program, which is taken in before it.
cat >"$work/library.c" <<'C'
#include <signal.h>
int prepare(stack_t *stack) { return sigaltstack(stack, 0); }
C
cat >"$work/user.c" <<'C'
int prepare(void *);
int main(void) { return prepare(0); }
C
"$szc" -O2 -shared -fPIC -o "$work/library.so" "$work/library.c" && "$szc" -O2 -o "$work/user" "$work/user.c" "$work/library.so" || fail "the library does not build"
STABILIZER_OPTIONS=stack=1:report=$work/report "$work/user"
grep -q '"pads_small_for": "[^"]*library.so"' "$work/report" || fail "a library's small stacks are not seen: $(cat "$work/report")"

# The report names who has the small stacks, not who hides addresses for another reason; a library that comes later, too.
cat >"$work/branches.c" <<'C'
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>
jmp_buf back;
ucontext_t context;
__attribute__((noinline)) int makes_child(void) {
  const pid_t child = vfork();
  if (child == 0) _exit(0);
  return child < 0;
}
#ifdef SWITCHES
__attribute__((noinline)) int makes_stack(void) {
  const pid_t child = vfork();
  if (child == 0) _exit(0);
  return child < 0 || setcontext(&context);
}
#elif defined(OTHER)
__attribute__((noinline)) int makes_stack(void) {
  stack_t stack;
  return sigaltstack(0, &stack);
}
#else
__attribute__((noinline)) int makes_stack(void) { return dlopen("./library.so", RTLD_NOW) == NULL; }
#endif
int main(int count, char **arguments) { return makes_child() || (count > 5 && makes_stack()) || (count < 2 && arguments[0][0] == 0); }
C
# small_for FLAGS EVENT WHO [ARGUMENTS]
small_for() {
  rm -f "$work/report"
  "$szc" -O1 $1 -o "$work/branches" "$work/branches.c" || fail "branches $1 does not build"
  (cd "$work" && STABILIZER_OPTIONS=stack=1:report=$work/report ./branches ${4:-}) || fail "branches $1 ends with $?"
  grep "\"event\": \"$2\"" "$work/report" | grep -q "\"pads_small_for\": \"$3\"" || fail "branches $1: small pads are due to $3: $(cat "$work/report")"
}
small_for -DSWITCHES start makes_stack
small_for -DOTHER start 'sigaltstack[^"]*'
small_for "" exit '[^"]*library.so' "1 2 3 4 5"
grep '"event": "start"' "$work/report" | grep -q pads_small_for && fail "the library was named before it was there: $(cat "$work/report")"

# Arguments that are pushed from the frame.
cat >"$work/pushes.c" <<'C'
int printf(const char *, ...);
__attribute__((noinline)) int eight(int a, int b, int c, int d, int e, int f, long g, long h) { return printf("%d %d\n", a + b + c + d + e + f, (int)(g + h)); }
__attribute__((noinline)) int caller(long *numbers) {
  long kept[20];
  for (int i = 0; i < 20; ++i) kept[i] = numbers[i] * 3;
  const int before = printf("first\n");
  __asm__ volatile("" : "+m"(kept));
  return eight(1, 2, 3, 4, 5, 6, kept[7], kept[11]) + before;
}
int main(void) {
  long numbers[20] = {0};
  return caller(numbers) == 0;
}
C
"$szc" -O2 -o "$work/pushes" "$work/pushes.c" || fail "the pushing program does not build"
objdump -d --no-show-raw-insn "$work/pushes" | grep -q 'push.*(%rsp)' || fail "nothing is pushed from the frame"
"$szc" --stab-explain "$work/pushes" | grep -q ' caller: pads of up to 4080' || fail "a push from the frame is not understood: $("$szc" --stab-explain "$work/pushes" | grep caller)"
for seed in 1 2 3; do [ "$(STABILIZER_OPTIONS=stack=1:seed=$seed "$work/pushes")" = "$(printf 'first\n21 0')" ] || fail "pushes: wrong output"; done
finish
