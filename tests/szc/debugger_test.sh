#!/bin/bash
# SPDX-License-Identifier: MIT
# debugger_test.sh SOURCE BUILD: gdb names moved functions in a backtrace, breakpoints stop at them whether they were
# set before or after the start, and the perf map lists them. gdb also sees which calls of setjmp are examined.
set -u
. "$1/tests/lib.sh"
cd "$work" || exit 1

cat >program.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noinline)) int inner(int x) { if (x > 100) abort(); return x + 1; }
__attribute__((noinline)) int middle(int x) { return inner(x * 2) + 1; }
__attribute__((noinline)) int outer(int x) { return middle(x + 5) * 3; }
int main(int count, char **arguments) {
  (void)arguments;
  fprintf(stderr, "%d\n", (int)getpid());
  return outer(count) + (count > 2 ? outer(100) : 0);
}
END
$szc -O1 -g program.c -o program || exit 1

STABILIZER_OPTIONS=seed=1:perf_map=1 ./program 2>pid
map=/tmp/perf-$(cat pid).map
grep -q '^[0-9a-f]* [0-9a-f]* inner$' "$map" || fail "perf map: $(cat "$map")"
rm -f "$map"

if ! command -v gdb >/dev/null; then
  skipped "no gdb here"
  exit $failures
fi

export STABILIZER_OPTIONS=strict=1
debug() { timeout 300 gdb -nx -batch "$@" --args ./program a b 2>&1; }

# The frames of the crash have names and heap addresses.
debug -ex run -ex bt >text
tr '\n' ' ' <text | grep -q 'in inner.*in middle.*in outer.*in main' || fail "backtrace: $(cat text)"
# Set before the start: the function with the breakpoint stays in place.
debug -ex 'break inner' -ex run -ex bt >text
tr '\n' ' ' <text | grep -q 'Breakpoint 1, .*inner .*in middle.*in outer.*in main' || fail "early breakpoint: $(cat text)"
# Set afterwards: it has a place in the copy too.
debug -ex 'break main' -ex run -ex 'break inner' -ex continue -ex bt >text
tr '\n' ' ' <text | grep -q 'Breakpoint 2[.0-9]*, .*inner.*in middle.*in outer' || fail "late breakpoint: $(cat text)"

# setjmp of moved code goes straight to libc's function, and setjmp of a library is examined.
cat >jumps_library.c <<'END'
#include <setjmp.h>
int in_library(void) {
  static jmp_buf place;
  return setjmp(place);
}
END
cat >jumps.c <<'END'
#include <setjmp.h>
int in_library(void);
static jmp_buf place;
__attribute__((noinline)) static int jump(volatile int i) {
  if (setjmp(place) == 0) longjmp(place, i + 1);
  return i;
}
int main(int count, char **arguments) {
  (void)arguments;
  int sum = 0;
  for (int i = 0; i < 100; ++i) sum += jump(i);
  return count > 1 ? in_library() : sum != 4950;
}
END
clang-22 -O1 -fPIC -shared -o jumps_library.so jumps_library.c && $szc -O1 jumps.c ./jumps_library.so -o jumps || exit 1
examined() { timeout 300 gdb -nx -batch -ex 'break stab_look_at_registers' -ex run --args ./jumps "$@" 2>&1; }
examined >text
grep -q '^Breakpoint 1, ' text && fail "setjmp of moved code is examined: $(cat text)"
grep -q 'exited normally' text || fail "the program of jumps: $(cat text)"
examined library >text
grep -q '^Breakpoint 1, .*stab_look_at_registers' text || fail "setjmp of a library is not examined: $(cat text)"
finish
