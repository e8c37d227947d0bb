#!/bin/bash
# SPDX-License-Identifier: MIT
# stack_test.sh SOURCE BUILD: each function that calls others gets one pad in every mode of compilation; frames lie
# at random places, those of a leaf that main calls from one loop included; stack=0 leaves frames as clang makes them.
set -u
. "$1/tests/lib.sh"
cat >"$work/count.c" <<'C'
int printf(const char *, ...);
__attribute__((noinline)) int leaf(int x) { return x * 3; }
__attribute__((noinline)) int tail(int x) { return printf("%d\n", x); }
__attribute__((noinline)) int one(int x) { return printf("%d\n", x) + x; }
__attribute__((noinline)) int two(int x) { return one(x) + leaf(x); }
int main(int count, char **arguments) {
  (void)arguments;
  return two(count) + tail(count) < 0;
}
C
# At most one record a function, and one for each of main, one and two.
for flags in -O0 -O1 -O2 -O3 -Os "-O2 -flto" "-O2 -flto=thin" "-O0 -flto" "-O2 -g" "-O2 -fno-omit-frame-pointer"; do
  rm -f "$work"/count
  $szc $flags -o "$work/count" "$work/count.c" || fail "$flags does not build"
  "$szc" --stab-explain "$work/count" >"$work/explained"
  for name in main one two; do
    grep -q " $name: pads of up to 4080 bytes" "$work/explained" || fail "$flags: $name has no pad: $(grep " $name:" "$work/explained")"
  done
  grep -q " leaf: no pads" "$work/explained" || fail "$flags: leaf has a pad"
  readelf -SW "$work/count" | grep -q szc_frames && fail "$flags: the records are left in the program"
done
for phase in compile prelink; do
  STAB_PASS_PHASE=$phase $clang -O2 "-fpass-plugin=$2/lib/stab-pass-${clang#clang-}.so" -S -o "$work/$phase.s" "$work/count.c"
done
[ "$(grep -c szc_frames "$work/compile.s")" = 3 ] || fail "not one record for each function"
grep -q szc_frames "$work/prelink.s" && fail "a record before the link"

# The records' objects are gone: frames of optimized code are as large as clang's.
objdump -d --no-show-raw-insn "$work/count" | grep -A 8 '<two>:' | grep -q 'sub.*0x9' && fail "the static pad is left"
# Without optimizations, too, where values lie below the object.
cat >"$work/spill.c" <<'C'
int printf(const char *, ...);
__attribute__((noinline)) int two(int x) { return printf("%d\n", x) * 3 + x; }
int main(int count, char **arguments) {
  const char *text = arguments[0] ? "a" : "b";
  return (two(count) + two(2) * two(3)) / (printf("%s\n", text) + two(4)) + printf("%d%d%d%d%d%d\n", 1, 2, 3, 4, count, 6);
}
C
frames() { objdump -d --no-show-raw-insn "$1" | awk '/^[0-9a-f]+ <(two|main)>:/ { name = $2 } /sub .*,%rsp/ && name { print name, $3 $4; name = "" }' | sort; }
for flags in -O0 "-O0 -fPIC" "-O0 -g"; do
  $clang $flags -o "$work/plain" "$work/spill.c" && $szc $flags -o "$work/spill" "$work/spill.c" || fail "$flags does not build"
  diff <(frames "$work/plain") <(frames "$work/spill") || fail "$flags: frames differ from clang's"
  for options in stack=0 stack=1:budget=off:period=1ms; do
    [ "$(STABILIZER_OPTIONS=$options "$work/spill")" = "$("$work/plain" | sed "s|plain|spill|")" ] || fail "$flags $options: wrong output"
  done
done
"$szc" --stab-stack=off -O2 -o "$work/off" "$work/count.c" && "$szc" --stab-explain "$work/off" | grep -q 'pads of up to' && fail "--stab-stack=off makes pads"
"$szc" --stab-stack=other -c "$work/count.c" -o "$work/other" 2>/dev/null && fail "--stab-stack=other is taken"

# Code that a later command makes of bitcode, at another level, and frames that a flag aligns.
reach=$1/tests/programs/frame_reach.c
$clang -O0 -o "$work/plain" "$reach" && "$szc" -O0 -emit-llvm -c -o "$work/reach.bc" "$reach" && "$szc" -O2 -o "$work/reach" "$work/reach.bc" || fail "bitcode does not build"
[ "$(STABILIZER_OPTIONS=stack=0 "$work/reach")" = "$("$work/plain")" ] || fail "code made of bitcode: wrong output"
"$szc" --stab-explain "$work/reach" | grep -q 'pads of up to' || fail "code made of bitcode has no pads"
"$szc" -O2 -mstack-alignment=64 -o "$work/aligned" "$work/count.c" && "$szc" --stab-explain "$work/aligned" | grep -q 'pads of up to' && fail "-mstack-alignment: pads"

# The mode that takes pads on entry: exactly once, too, and zeros without stack=1.
for flags in -O0 -O2 "-O2 -flto" "-O2 -flto=thin" "-O0 -flto" "-O2 -fPIC" "-O2 -fno-pie -no-pie"; do
  $szc --stab-stack=table $flags -o "$work/count" "$work/count.c" || fail "table $flags does not build"
  "$szc" --stab-explain "$work/count" >"$work/explained"
  functions=3 # a call at the end of a function is a jump, if optimized
  [[ $flags == *-O0* ]] && functions=4
  [ "$(grep -c "pads of up to 4080 bytes, allocated on entry" "$work/explained")" = $functions ] || fail "table $flags: $(cat "$work/explained")"
  bytes=$(readelf -SW "$work/count" | awk '/ stab_pads / { sub(/^ *\[ *[0-9]+\] */, ""); print $5 }')
  [ $((16#${bytes:-0})) = $((functions * 256)) ] || fail "table $flags: $bytes bytes, in hexadecimal, for $functions functions"
  readelf -SW "$work/count" | grep -q szc_entries && fail "table $flags: the records are left in the program"
done
# A build that asks for the mode byte, which was removed, gets ordinary pads, and the link says so.
"$szc" --stab-stack=byte -O2 -o "$work/count" "$work/count.c" 2>"$work/said" || fail "--stab-stack=byte does not build"
[ "$(grep -c -- 'szc: note: --stab-stack=byte was removed' "$work/said")" = 1 ] || fail "--stab-stack=byte: $(cat "$work/said")"
"$szc" --stab-explain "$work/count" >"$work/explained"
grep -q ' two: pads of up to 4080 bytes' "$work/explained" || fail "--stab-stack=byte: $(cat "$work/explained")"
grep -q 'allocated on entry' "$work/explained" && fail "--stab-stack=byte makes pads on entry"

cat >"$work/sample.c" <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static uintptr_t before[3];
static int counts[3][64], seen[3];
static void note(int kind, uintptr_t here) {
  if (here == before[kind]) return;
  before[kind] = here;
  ++counts[kind][here >> 6 & 63];
  ++seen[kind];
}
#define HERE ((uintptr_t)__builtin_frame_address(0))
__attribute__((noinline)) static void leaf(int kind) { note(kind, HERE); }
__attribute__((noinline)) static void middle(int kind) {
  leaf(kind);
  __asm__ volatile("");
}
__attribute__((noinline)) static void upper(int kind) {
  middle(kind);
  __asm__ volatile("");
}
int main(void) {
  const int wanted = 400;
  const clock_t last = clock() + 20 * CLOCKS_PER_SEC;
  for (unsigned long n = 0; seen[0] < wanted || seen[1] < wanted || seen[2] < wanted; ++n) {
    leaf(0);
    middle(1);
    upper(2);
    if (n % 4096 == 0 && clock() > last) break;
  }
  for (int kind = 0; kind < 3; ++kind) {
    double sum = 0;
    const double each = seen[kind] / 64.0;
    for (int i = 0; i < 64; ++i) sum += (counts[kind][i] - each) * (counts[kind][i] - each) / each;
    // 63 degrees of freedom: right pads exceed this once in 10,000 times.
    printf("depth %d: %d places, chi-squared %.1f: %s\n", kind, seen[kind], sum,
           seen[kind] >= wanted && sum < 113.5 ? "uniform" : "NOT uniform");
  }
  return 0;
}
C
for mode in frame table; do
  "$szc" --stab-stack=$mode -O2 -o "$work/sample-$mode" "$work/sample.c" || fail "the sampling program does not build"
done
# One layout serves many calls of the mode table, which take the same 256 sizes again, so their places are only counted.
for case in 'frame:0:: uniform' 'frame:1:: uniform' 'table:0:[0-9]\{3,\} places'; do
  IFS=: read -r mode code sign <<<"$case"
  STABILIZER_OPTIONS=code=$code:stack=1:strict=1:seed=11:budget=off:period=1ms timeout 300 "$work/sample-$mode" >"$work/out" || fail "sample ends with $?"
  [ "$(grep -c "$sign" "$work/out")" = 3 ] || fail "$mode, code=$code: $(cat "$work/out")"
done

# The same seed gives the same places, whatever the size of the environment does to where the stack begins; over seeds
# they are spread.
cat >"$work/first.c" <<'C'
#include <stdint.h>
#include <stdio.h>
__attribute__((noinline)) static int where(void) { return printf("%d\n", (int)((uintptr_t)__builtin_frame_address(0) >> 4 & 255)); }
int main(void) { return where() < 0; }
C
"$szc" -O2 -o "$work/first" "$work/first.c" || fail "the first frames' program does not build"
first() { env -i A="$(printf '%*s' "$2" '')" "STABILIZER_OPTIONS=stack=1:rerandomize=once:seed=$1" setarch -R "$work/first"; }
[ "$(first 5 100)" = "$(first 5 100)" ] || fail "equal seeds, other places"
for size in 16 2064; do
  places=$(for seed in $(seq 1 40); do first "$seed" "$size"; done | sort -u | wc -l)
  [ "$places" -ge 30 ] || fail "environment of $size bytes: $places places in 40 runs"
done
finish
