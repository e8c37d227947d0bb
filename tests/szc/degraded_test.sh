#!/bin/bash
# SPDX-License-Identifier: MIT
# degraded_test.sh SOURCE BUILD: whatever keeps the runtime from its work, the program runs as always and the report
# says why; with strict=1 it refuses with one clear line. A crash is the program's, and the report names the function.
set -u
. "$1/tests/lib.sh"
. "$source_directory/tests/programs/build.sh"
cd "$work" || exit 1

cat >good.c <<'END'
#include <stdio.h>
__attribute__((noinline)) int twice(int x) { return 2 * x; }
int main(void) { puts("works"); return twice(21); }
END
$szc -O1 good.c -o good || exit 1
$clang -O1 "$source_directory/tests/szc/refuse.c" -o refuse || exit 1

# expect TITLE WHY COMMAND...: runs as always, and says why it is not randomized; refuses under strict=1.
expect() {
  local title=$1 why=$2
  shift 2
  rm -f report
  local output status
  output=$(STABILIZER_OPTIONS=heap=0:seed=1:report=$work/report "$@" 2>errors)
  status=$?
  [ "$output" = works ] && [ $status = 42 ] || fail "$title: output '$output', status $status, $(cat errors)"
  grep -q '"randomized": "no", "why": "'"$why" report 2>/dev/null || fail "$title: the report says $(cat report 2>&1)"
  output=$(STABILIZER_OPTIONS=heap=0:seed=1:strict=1 "$@" 2>errors)
  status=$?
  [ $status = 125 ] && [ -z "$output" ] || fail "$title: strict: output '$output', status $status"
  [ "$(wc -l <errors)" = 1 ] && grep -q "^stabilizer: .*$why" errors || fail "$title: strict: says '$(cat errors)'"
}

# As always, and randomized.
works() {
  local title=$1
  shift
  rm -f report
  local output
  output=$(STABILIZER_OPTIONS=heap=0:seed=1:strict=1:report=$work/report "$@" 2>errors)
  [ $? = 42 ] && [ "$output" = works ] || fail "$title: '$output' $(cat errors)"
  grep -q '"randomized": "yes"' report || fail "$title: $(cat report)"
}

# refused_later FILE FLAGS CALLS OPTIONS: the kernel refuses mremap from some epoch on. The layout before that stays, and the
# program goes on in it.
refused_later() {
  local name=$1 why='"why_given_up": "code cannot be put in place (mremap was refused)"' last
  build later "$programs/$name" "$szc" "$szc" "$2" >log 2>&1 || { fail "$name is not built: $(tail -3 log)"; return; }
  rm -f report
  HAZARD_MS=400 STABILIZER_OPTIONS=strict=1:budget=off:period=2ms:seed=5:poison=1:report=$work/report$4 \
    timeout 300 ./refuse "mremap:$3" later/program >output 2>errors
  local status=$?
  last=$(tail -n 1 report)
  [ $status = 0 ] || fail "$name, mremap refused later: status $status, $(cat output errors)"
  grep -qF "$why" <<<"$last" || fail "$name, mremap refused later: the report says $last"
  [ "$(sed -n 's/.*"epochs": \([0-9]*\).*/\1/p' <<<"$last")" -ge 3 ] || fail "$name, mremap refused later: $last"
}

# apart FILE FLAGS OPTIONS: code is never writable and executable at one time (Image 4), at start and in epochs.
apart() {
  build apart "$programs/$1" "$szc" "$szc" "$2" >log 2>&1 || { fail "$1 is not built: $(tail -3 log)"; return; }
  rm -f report
  (cd apart && HAZARD_MS=400 STABILIZER_OPTIONS=strict=1:budget=off:period=2ms:seed=5:report=$work/report$3 \
    timeout 300 ../refuse both ./program) >output 2>errors || fail "$1, code never writable: status $?, $(cat output errors)"
  [ "$(sed -n 's/.*"epochs": \([0-9]*\).*/\1/p' <<<"$(tail -n 1 report)")" -ge 3 ] || fail "$1: $(cat report)"
}

section_offset() { readelf -SW "$1" | sed -n "s/.* $2  *[A-Z]* *[0-9a-f]* \([0-9a-f]*\) .*/\1/p"; }
poke() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

works "nothing in the way" ./good

# A report to a relative path, to an open file, and for code=0.
(STABILIZER_OPTIONS=report=here ./good >/dev/null; grep -q '"event": "exit"' here) || fail "report to a relative path"
STABILIZER_OPTIONS=report=7 ./good 7>numbered >/dev/null
grep -q '"event": "exit"' numbered || fail "report to an open file"
STABILIZER_OPTIONS=code=0:report=off ./good >/dev/null
grep -q '"why": "code=0"' off || fail "report with code=0"
[ "$(grep -c . here)" = 2 ] || fail "two lines in a report"

$clang -O1 -ffunction-sections good.c "$build_directory/lib/stab-runtime.o" -fuse-ld=lld -o unstepped
expect "linked without the step" "the binary was linked without" ./unstepped

table=$((16#$(section_offset good .stab.table)))
note=$((16#$(section_offset good .note.stab)))
cp good altered && poke altered $((table + 200)) '\x55'
expect "altered table" "the table was altered" ./altered
cp good magicless && poke magicless "$table" 'xx'
expect "no table" "there is other data in place of the table" ./magicless
cp good newer && poke newer $((note + 20)) '\x63'
expect "another version in the note" "the table has another version" ./newer
# As patchelf leaves it: the note is elsewhere.
cp good rewritten && poke rewritten "$note" "$(printf 'X%.0s' $(seq 48))"
expect "rewritten by a tool" "a tool such as patchelf has rewritten the binary since szc linked it" ./rewritten
rm -f report
STABILIZER_OPTIONS=heap=1:report=$work/report ./rewritten >output
grep -q '"heap": "on".*"randomized": "no"' report || fail "the heap counts for the code: $(cat report)"
if command -v patchelf >/dev/null; then
  cp good patched && patchelf --set-rpath "$work/$(printf 'long%.0s' $(seq 40))" patched
  expect "patchelf" "a tool such as patchelf has rewritten the binary since szc linked it" ./patched
fi
cp good newer_table && poke newer_table $((table + 8)) '\x63'
expect "another version in the table" "the table has another version" ./newer_table
cp good truncated && truncate -s "$table" truncated
expect "truncated file" "the table was truncated" ./truncated
cp good smaller && poke smaller $((note + 40)) '\x80\x00'
expect "smaller table" "the table" ./smaller
cp good elsewhere && poke elsewhere $((note + 34)) '\x7f'
expect "table elsewhere" "the table was truncated" ./elsewhere

# What stays for a reason of its own is counted: Go's code, exceptions that are read in an unknown way, bytes that are used.
count_of() { sed -n "s/.*\"event\": \"start\".*\"$1\": \([0-9]*\).*/\1/p" report; }
cat >of_go.s <<'END'
.section .gopclntab, "a"
.quad 0
.text
runtime.text:
.globl go_sum
.type go_sum, @function
go_sum:
  leaq (%rip), %rax
1: leaq runtime.text(%rip), %rcx
  leaq runtime.etext(%rip), %rdx
  cmpq %rcx, %rax
  jb 2f
  cmpq %rdx, %rax
  jae 2f
  movl $1, %eax
  ret
2: xorl %eax, %eax
  ret
.size go_sum, .-go_sum
.p2align 4
runtime.etext:
.section .note.GNU-stack, "", @progbits
END
cat >calls_go.c <<'END'
#include <stdio.h>
int go_sum(void);
int main(void) { return puts(go_sum() ? "at home" : "unknown pc") < 0; }
END
$szc -O1 calls_go.c of_go.s -o calls_go || exit 1
rm -f report
[ "$(STABILIZER_OPTIONS=report=report ./calls_go)" = "at home" ] || fail "Go's code moves"
[ "$(count_of go_functions)" = 1 ] || fail "Go's functions are not counted: $(cat report)"
# Its tables of exceptions are read by a function that szc does not know.
cat >catches.s <<'END'
.text
.globl reads_tables
.type reads_tables, @function
reads_tables:
  movl $8, %eax
  ret
.size reads_tables, .-reads_tables
.p2align 4
.globl catches
.type catches, @function
catches:
.cfi_startproc
.cfi_personality 0x1b, reads_tables
.cfi_lsda 0x1b, .Ltable
  movl $7, %eax
  ret
.cfi_endproc
.size catches, .-catches
.section .gcc_except_table, "a", @progbits
.Ltable:
  .byte 0xff, 0xff, 1, 0
.section .note.GNU-stack, "", @progbits
END
echo 'int catches(void); int main(void) { return catches() != 7; }' >calls_catches.c
$szc -O1 calls_catches.c catches.s -o catches || exit 1
rm -f report
STABILIZER_OPTIONS=report=report ./catches || fail "a function with exceptions of another language breaks"
[ "$(count_of foreign_exception_functions)" = 1 ] || fail "functions with exceptions of other languages are not counted: $(cat report)"
build bytes "$programs/used_bytes.c" "$szc" "$szc" -O2 >log 2>&1 || fail "used_bytes.c is not built: $(tail -3 log)"
rm -f report
STABILIZER_OPTIONS=report=$work/report bytes/program >output
[ "$(count_of used_bytes_functions)" -ge 5 ] || fail "functions whose bytes are used are not counted: $(cat report)"
for name in copied hooked may_fault; do
  $szc --stab-explain bytes/program | grep -q " $name: the program uses the function's bytes" || fail "$name is not explained"
done
# The same by gcc, without szc's pass.
while IFS='|' read -r file compiler flags; do
  build_both gcc_bytes "$file" "$compiler" "$flags" || fail "used_bytes_gcc.c $flags is not built"
  run gcc_bytes/plain "" >expected
  for options in rerandomize=once seed=2:period=1ms:budget=off code=0; do
    run gcc_bytes/ours "$options" >output
    cmp -s output expected || fail "used_bytes_gcc.c $flags, $options: $(cat output gcc_bytes/ours/errors)"
  done
  for name in copied hooked may_fault indexed one_of_two other_of_two; do
    $szc --stab-explain gcc_bytes/ours/program | grep -q " $name: the program uses the function's bytes" || fail "used_bytes_gcc.c $flags: $name is not explained"
  done
  [ "$($szc --stab-explain gcc_bytes/ours/program | grep -c 'bytes or address range as data')" -le 9 ] || fail "used_bytes_gcc.c $flags: too many functions stay"
done < <(variants_of used_bytes_gcc.c)
# In a shared library, the addresses come from the linker's table, and one function is used by an alias. The objects have
# lost their debugging information, as `strip -g` leaves them.
cat >copied.c <<'END'
#include <string.h>
#include <sys/mman.h>
int seven(int x) { return x * 3 + 7; }
int nine(int x) { return x * 5 + 9; }
int same(int x) __attribute__((alias("nine")));
int run(void) {
  char *memory = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(memory, (void *)seven, 32);
  memcpy(memory + 64, (void *)same, 32);
  return ((int (*)(int))memory)(5) + 100 * ((int (*)(int))(memory + 64))(5);
}
END
printf '#include <stdio.h>\nint run(void);\nint main(void) { printf("%%d\\n", run()); return 0; }\n' >runs_copied.c
for flags in "--stab-cc=gcc -O0" "--stab-cc=gcc -O2" "--stab-cc=gcc -O2 -fno-plt" -O0 -O2; do
  # shellcheck disable=SC2086
  $szc --stab-quiet $flags -fPIC -c copied.c && strip -g copied.o && $szc --stab-quiet $flags -shared copied.o -o libcopied.so &&
    $szc --stab-quiet -O1 runs_copied.c ./libcopied.so -Wl,-rpath,. -o runs_copied || { fail "copied.c $flags is not built"; continue; }
  for name in seven nine; do
    $szc --stab-explain libcopied.so | grep -q " $name: the program uses the function's bytes" || fail "copied.c $flags: $name moves"
  done
  for options in code=0 rerandomize=once:seed={1..4}; do
    [ "$(STABILIZER_OPTIONS=$options ./runs_copied)" = 3422 ] || fail "copied.c $flags, $options: wrong output"
  done
done
# Lists of places that the program doesn't ask for keep no function in place; patched_entries.c asks.
{
  for i in {1..12}; do echo "__attribute__((noinline)) int f$i(int x) { return x * $i ^ x / $i; }"; done
  echo "int (*volatile all[])(int) = {f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12};"
  echo "int main(void) { int sum = 0; for (int i = 0; i < 12; ++i) sum += all[i](i + 1); return sum; }"
} >listed.c
moving_functions() { $szc -O2 $1 listed.c -o listed && $szc --stab-explain listed | grep -cE '^ *moves .* (f[0-9]+|main):'; }
plain=$(moving_functions "")
[ "$plain" = 13 ] || fail "only $plain functions move"
for flags in -fpatchable-function-entry=8,3 -fpatchable-function-entry=4 -fsanitize=kcfi; do
  moving=$(moving_functions $flags)
  [ "$moving" = "$plain" ] || fail "$flags: $moving functions move instead of $plain"
done
while IFS='|' read -r file compiler flags; do
  build_both patched "$file" "$compiler" "$flags" || fail "patched_entries.c $flags is not built"
  run patched/plain "" >expected
  grep -q 'patched 1' expected || fail "patched_entries.c $flags patches nothing: $(cat expected)"
  run patched/ours seed=2:period=1ms:budget=off >output
  cmp -s output expected || fail "patched_entries.c $flags: $(cat output patched/ours/errors)"
  $szc --stab-explain patched/ours/program | grep -q " once: the program uses the function's bytes" || fail "patched_entries.c $flags: the patched function moves"
done < <(variants_of patched_entries.c)
rm -f report
STABILIZER_OPTIONS=report=report ./good >output
grep -qE 'go_functions|used_bytes_functions|foreign_exception' report && fail "an ordinary program: $(cat report)"

if ./refuse exec /bin/true 2>/dev/null; then
  expect "mprotect refused" "memory cannot be made executable" ./refuse mprotect ./good
  expect "executable memory refused" "memory cannot be made executable" ./refuse exec ./good
  expect "no memory near the image" "no memory near the image" ./refuse near ./good
  echo '#include <sys/mman.h>
int main(void) { return mmap(0, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED; }' >both.c
  $clang both.c -o both && { ./refuse both ./both; } 2>/dev/null
  [ $? = $((128 + $(kill -l SYS))) ] || fail "memory may be writable and executable"
  apart epoch_libraries.cpp -O2 :stack=1:heap=1
  apart epoch_vtables.cpp "-O2 -std=c++20 -fvisibility=hidden" :stack=1
  [ "$(STABILIZER_OPTIONS=report=placed ./refuse mremap ./good)" = works ] &&
    grep -q '"why_once": "code cannot be put in place.*"randomized": "yes"' placed || fail "mremap refused: $(cat placed)"
else
  skipped "no seccomp here"
fi
# Filters that ask another process how to answer.
if ./refuse exec:0 /bin/true 2>/dev/null; then
  expect "no stubs put in place" "code cannot be put in place" ./refuse mremap:1 ./good
  refused_later epoch_dispatch.c -O2 10 ""
  refused_later epoch_exceptions.cpp "-O2 -std=c++14" 20 :stack=1
  refused_later epoch_signals.c -O2 15 :stack=1:heap=1
else
  skipped "no seccomp here that counts"
fi

if unshare -rm true 2>/dev/null; then
  works "no /proc" unshare -rm sh -c "mount -t tmpfs none /proc && exec $work/good"
else
  skipped "no user namespaces here, so /proc cannot be hidden"
fi

# Unknown options warn; under strict=1 they refuse.
output=$(STABILIZER_OPTIONS=cod=1:seed=x ./good 2>errors)
[ $? = 42 ] && grep -q "unknown option cod, bad value of seed" errors || fail "unknown option: $(cat errors)"
STABILIZER_OPTIONS=cod=1:strict=1 ./good >output 2>errors
[ $? = 125 ] && [ ! -s output ] && [ "$(wc -l <errors)" = 1 ] || fail "unknown option under strict=1"
# refused PROGRAM OPTIONS WHY: the program runs as always; under strict=1 it refuses in one line, because it cannot obey.
refused() {
  local output status
  output=$(STABILIZER_OPTIONS=$2 "$1" 2>errors)
  status=$?
  [ "$output" = works ] && [ $status = 42 ] || fail "$2: output '$output', status $status, $(cat errors)"
  output=$(STABILIZER_OPTIONS=$2:strict=1 "$1" 2>errors)
  status=$?
  [ $status = 125 ] && [ -z "$output" ] || fail "$2: strict: output '$output', status $status"
  [ "$(wc -l <errors)" = 1 ] && grep -q "^stabilizer: .*$3" errors || fail "$2: strict: says '$(cat errors)'"
}
for quoted in "'$work/quoted" "'$work/quoted'seed=1" "\"$work/quoted:seed=1"; do
  refused ./good "report=$quoted" "wrong quotes around the value of report"
done
compgen -G 'quoted*' && fail "a report whose name has wrong quotes is written"
refused ./good heap_bag=7 "bad value of heap_bag"
refused ./good heap_bag=4097 "bad value of heap_bag"
refused ./good report=/no/such/folder/r "the report cannot be written (option report): /no/such/folder/r"
refused ./good code=0:report=/no/such/folder/r "the report cannot be written"
refused ./good report=9 "the report cannot be written" 9>&-
$clang -O1 -c good.c -o without_pass.o && $szc --stab-stack=off without_pass.o -o unpadded || exit 1
refused ./unpadded stack=1 "strict=1: no stack frame of the executable has a pad"
refused ./unpadded code=0:stack=1 "strict=1: no stack frame of the executable has a pad"
rm -f report
STABILIZER_OPTIONS=stack=1:report=report ./unpadded >/dev/null
grep -q '"code": "on", "stack": "off"' report || fail "a program without pads has random stack frames: $(cat report)"
# If no function makes calls, the reason is not the compiler.
cat >leaf.c <<'C'
int main(void) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(1), "D"(1), "S"("works\n"), "d"(6) : "rcx", "r11", "memory");
  return 42;
}
C
$szc -O1 leaf.c -o leaf || exit 1
refused ./leaf stack=1 "strict=1: no stack frame of the executable can have a pad, because the movable functions make no calls"
rm -f report
STABILIZER_OPTIONS=stack=1:report=report ./leaf >/dev/null
grep -q '"padded": 0.*"why_no_pads": "no stack frame of the executable can have a pad, ' report || fail "no calls: $(cat report)"
# The pads of a library are enough.
echo 'int call_twice(int (*f)(int)) { return f(f(1)) + 1; }' >padded.c
$szc -O1 -fPIC -shared padded.c -o libpadded.so && $szc --stab-stack=off without_pass.o -Wl,--no-as-needed ./libpadded.so -o padded_in_part || exit 1
for options in stack=1 code=0:stack=1; do
  output=$(STABILIZER_OPTIONS=$options:strict=1 ./padded_in_part 2>errors)
  [ $? = 42 ] && [ "$output" = works ] || fail "$options: pads in a library only: output '$output', $(cat errors)"
done
rm -f report
STABILIZER_OPTIONS=stack=1:report=report ./padded_in_part >/dev/null
grep '"event": "library"' report | grep -q '"stack": "on".*"padded": [1-9][0-9]*, "framed": [1-9]' || fail "the pads of a library are not reported: $(cat report)"
STABILIZER_OPTIONS=help=1 ./good | grep -q "seed (number" || fail "help=1"
[ "$(STABILIZER_OPTIONS=help=0 ./good)" = works ] || fail "help=0"

# The same signal, and the report names the function.
for kind in 'SEGV *(volatile int*)8 = 1' 'ILL __builtin_trap()' 'ABRT abort()' 'FPE x /= x - 1'; do
  name=${kind%% *}
  cat >crash.c <<END
#include <stdlib.h>
__attribute__((noinline)) int crash_here(volatile int x) { ${kind#* }; return x; }
int main(void) { return crash_here(1) + 1; }
END
  $szc -O1 -w crash.c -o crash || exit 1
  for options in code=0 seed=3 seed=3:report=$work/crashed; do
    rm -f crashed
    (STABILIZER_OPTIONS=$options exec ./crash) 2>/dev/null
    status=$?
    [ $status = $((128 + $(kill -l "$name"))) ] || fail "crash by $name with $options: status $status"
  done 2>/dev/null
  grep -q '"event": "signal"' crashed || fail "crash by $name: no line in the report"
  [ "$name" = ABRT ] || grep -q '"function": "crash_here"' crashed || fail "crash by $name: $(cat crashed)"
  grep -q '"event": "exit"' crashed && fail "crash by $name: an exit in the report"
done

# Forked children write one line of their own if functions moved in them, and none otherwise.
cat >forks.c <<'END'
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static long work(long n) {
  long s = 0;
  for (long i = 0; i < n; ++i) s = s * 31 + (i ^ s);
  return s;
}
static void live(double seconds) {
  for (const clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC); clock() < end;) work(10000);
}
int main(void) {
  if (fork() == 0) exit(3);
  if (fork() == 0) _exit(3);
  if (vfork() == 0) _exit(3);
  if (fork() == 0) { live(0.2); exit(4); }
  if (fork() == 0) { live(0.2); if (fork() == 0) { live(0.2); _exit(4); } wait(NULL); _exit(4); }
  while (wait(NULL) > 0) {}
  return 0;
}
END
$szc -O1 -w forks.c -o forks && STABILIZER_OPTIONS=budget=off:period=5ms:report=forked ./forks
[ "$(grep -c '"event": "exit"' forked)" = 1 ] && [ "$(wc -l <forked)" = 5 ] || fail "lines of forked children: $(cat forked)"
[ "$(grep '"event": "child"' forked | grep -v "\"pid\": $(sed -n 's/.*"exit", "pid": \([0-9]*\).*/\1/p' forked)" | grep -oE '"epochs": [0-9]{2}' | wc -l)" = 3 ] || fail "functions of forked children do not move: $(cat forked)"
STABILIZER_OPTIONS=rerandomize=once:report=once ./forks
[ "$(wc -l <once)" = 2 ] || fail "forked children wrote without epochs: $(cat once)"

# A descriptor that the program closed and that means another file at the end is left alone.
cat >closes.c <<'END'
#include <fcntl.h>
#include <unistd.h>
int main(void) { close(7); return dup2(open("other", O_WRONLY | O_CREAT, 0644), 7) != 7; }
END
$szc closes.c -o closes && STABILIZER_OPTIONS=report=7 ./closes 7>numbered || fail "closing the report"
[ ! -s other ] && grep -q '"event": "start"' numbered || fail "the report went to another file"

# A library is moved by the program's runtime, and is an ordinary one in a program that has none.
cat >part.c <<'END'
int helper(int x) { switch (x) { case 1: return 5; case 2: return 42; case 3: return 8; case 4: return 1; } return x; }
int part(int x) { return helper(x); }
END
cat >whole.c <<'END'
int part(int x);
int main(void) { return part(2); }
END
$szc -O1 -fPIC -shared part.c -o part.so
$szc -O1 whole.c ./part.so -o whole && STABILIZER_OPTIONS=report=parts ./whole
[ $? = 42 ] && grep '"event": "library"' parts | grep '/part.so"' | grep -q '"randomized": "yes"' || fail "library: $(cat parts)"
$clang -O1 whole.c ./part.so -o whole_plain && STABILIZER_OPTIONS=strict=1 ./whole_plain
[ $? = 42 ] || fail "a library of szc in a plain program"

# The region of interest.
cat >region.c <<'END'
#include <time.h>
#include "stabilizer.h"
int main(void) {
  struct timespec t = {0, 20000000};
  for (int i = 0; i < 2; ++i) { STAB_BEGIN(); STAB_BEGIN(); nanosleep(&t, NULL); STAB_END(); STAB_END(); STAB_END(); }
  return 0;
}
END
$szc "-I$build_directory/include" region.c -o region && STABILIZER_OPTIONS=report=regions ./region
grep -q '"region_ns": [4-9][0-9]\{7\},* "regions": 2' regions || grep -q '"region_ns": [0-9]\{9,\}, "regions": 2' regions ||
  fail "region: $(cat regions)"
$clang "-I$build_directory/include" region.c -o region_plain && ./region_plain || fail "stabilizer.h without szc"

# Layouts differ by seed and are the same for the same seed.
where() { STABILIZER_OPTIONS=seed=$1:report=layout setarch -R ./good >/dev/null; grep -o '"copies": "[^"]*"' layout; rm -f layout; }
[ "$(where 5)" = "$(where 5)" ] || fail "one seed, two layouts"
[ "$(where 5)" != "$(where 6)" ] || fail "two seeds, one layout"

# A program that compares its code with its file finds it changed; with code=0 it does not.
cat >compares.c <<'END'
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern const char __ehdr_start[];
__attribute__((noinline)) int twice(int x) { return 2 * x; }
int main(void) {
  const Elf64_Ehdr *header = (const Elf64_Ehdr *)__ehdr_start;
  const Elf64_Phdr *segments = (const Elf64_Phdr *)(__ehdr_start + header->e_phoff);
  const int file = open("/proc/self/exe", O_RDONLY);
  int changed = 0;
  for (int i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_X)) continue;
    char *bytes = malloc(segments[i].p_filesz);
    if (pread(file, bytes, segments[i].p_filesz, segments[i].p_offset) < 0) return 1;
    changed |= memcmp(bytes, __ehdr_start + segments[i].p_vaddr, segments[i].p_filesz) != 0;
  }
  puts(changed ? "changed" : "as in the file");
  return twice(21) != 42;
}
END
$szc -O1 -w compares.c -o compares 2>errors || exit 1
[ "$(grep -c . errors)" = 1 ] && grep -q 'szc: note: compares uses __ehdr_start, a bound of its code' errors || fail "a program that reads its code: $(cat errors)"
for way in "code=0 as in the file" "code=1 changed"; do
  [ "$(STABILIZER_OPTIONS=${way%% *} ./compares)" = "${way#* }" ] || fail "the code is not ${way#* } with $way"
done

# Moving functions replaces the program's text, so the kernel can't set a probe of the file at a place of a jump (relink.h).
cat >text.c <<'END'
#include <stdio.h>
__attribute__((noinline)) int twice(int x) { return 2 * x; }
int main(void) {
  unsigned long start, end, inode = 0;
  int c;
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fscanf(maps, "%lx-%lx %*s %*s %*s %lu", &start, &end, &inode) == 3) {
    if ((unsigned long)twice >= start && (unsigned long)twice < end) break;
    while ((c = getc(maps)) != '\n' && c != EOF) {}
  }
  puts(inode == 0 ? "its own" : "the file's");
  return twice(21) != 42;
}
END
$szc -O1 -w text.c -o text || exit 1
for way in "code=0 the file's" "code=1:rerandomize=once its own" "code=1:period=1ms its own"; do
  [ "$(STABILIZER_OPTIONS=strict=1:${way%% *} ./text)" = "${way#* }" ] || fail "whose the text is: not so with $way"
done
finish
