#!/bin/bash
# SPDX-License-Identifier: MIT
# foreign_frames_test.sh SOURCE BUILD: what gcc compiles runs right with pads, in every way in which its frames are
# laid out, and pads are there: frames lie at other places with other seeds.
set -u
. "$1/tests/lib.sh"
. "$source_directory/tests/programs/build.sh"
cd "$work" || exit 1
while IFS='|' read -r file compiler flags; do
  program=${file##*/}
  build_both . "$file" "$compiler" "$flags" || { fail "$program $flags is not built"; continue; }
  expected=$(run plain "")
  grep -q 'exit 0' <<<"$expected" || fail "$program $flags, by gcc alone: $expected"
  "$szc" --stab-explain ours/program >explained
  echo "$program $flags: $(sed -n 2p explained)"
  for options in stack=0 stack=1:seed={1,2,3,4}:rerandomize=once stack=1:seed={5,6}:period=1ms:budget=off stack=1:seed=7:code=0:period=1ms; do
    [ "$(run ours "$options:report=$work/report")" = "$expected" ] || fail "$program $flags, $options: $(cat ours/output ours/errors)"
    rm -f report
  done
done < <(variants_of foreign_frames.c foreign_parts.cpp)

# Padded functions, and some that must not be.
build_both . "$programs/foreign_frames.c" gcc -O0 || fail "-O0 is not built"
"$szc" --stab-explain ours/program >explained
for name in first_of by_index ten tail pushes nested deep leave returns_twice sorted; do
  grep -q " $name: pads of up to" explained || fail "$name has no pad: $(grep " $name:" explained)"
done
build_both . "$programs/foreign_frames.c" gcc -O2 || fail "-O2 is not built"
"$szc" --stab-explain ours/program >explained
grep -q " leave: pads of up to" explained || fail "leave has no pad: $(grep " leave:" explained)"
for name in by_index by_index_above by_pointer backwards passed_on as_number either nested variable; do
  grep -q " $name: no pads" explained || fail "$name has a pad: $(grep " $name:" explained)"
done

# Functions and the parts that gcc made of their rare blocks have pads together.
build_both . "$programs/foreign_parts.cpp" gcc -O2 || fail "foreign_parts.cpp is not built"
"$szc" --stab-explain ours/program >explained
[ "$(grep -c '\.cold: pads of up to [0-9]* bytes, with its function' explained)" -ge 3 ] ||
  fail "too few parts have pads: $(grep '\.cold:' explained)"
while read -r name; do
  grep -q " $name: pads of up to" explained || fail "$name.cold has pads, but not $name: $(grep " $name:" explained)"
done < <(sed -n 's/^.* \([^ ]*\)\.cold: pads of up to .*/\1/p' explained)

# Pads keep frames aligned to 32 bytes if the program needs that.
if grep -qw avx /proc/cpuinfo; then
  cat >aligned.c <<'C'
#include <stdio.h>
#include <stdint.h>
struct four { _Alignas(32) double v[4]; };
__attribute__((noinline)) static void fill(struct four *p, double x) {
  for (int i = 0; i < 4; ++i) p->v[i] = x + i;
  __asm__ volatile("" : : : "memory");
}
__attribute__((noinline)) static double product(const struct four *p, const struct four *q) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += p->v[i] * q->v[i];
  return sum;
}
__attribute__((noinline)) static double work(double x) {
  struct four p, q;
  long some[20];
  __asm__ volatile("" : : "r"(some) : "memory");
  fill(&p, x);
  fill(&q, x + 1);
  return product(&p, &q);
}
int main(void) {
  double sum = 0;
  for (int i = 0; i < 100; ++i) sum += work(i);
  printf("%g\n", sum);
  return 0;
}
C
  "$szc" --stab-cc=gcc --stab-quiet -O3 -mavx -mpreferred-stack-boundary=5 -o aligned aligned.c || fail "aligned.c is not built"
  "$szc" --stab-explain aligned | grep -q ' work: pads of up to' || fail "work has no pad: $("$szc" --stab-explain aligned | grep ' work:')"
  expected=$(STABILIZER_OPTIONS=stack=0 ./aligned)
  for seed in {1..10}; do
    [ "$(STABILIZER_OPTIONS=stack=1:seed=$seed:rerandomize=once ./aligned)" = "$expected" ] || fail "seed $seed: objects of 32 bytes lie at wrong places"
  done
fi

# main's caller may put its frame anywhere, so two places in frames of the same stack tell.
cat >places.c <<'C'
#include <stdio.h>
#include <stdint.h>
static uintptr_t upper, lower;
__attribute__((noinline)) void note(uintptr_t *place) { char here; *place = (uintptr_t)&here; __asm__ volatile("" : : "r"(&here) : "memory"); }
__attribute__((noinline)) long step(long x) { long some[4]; __asm__ volatile("" : : "r"(some) : "memory"); note(&lower); return some[x] * 0 + x; }
int main(void) {
  note(&upper);
  const long x = step(1);
  printf("%ld %ld\n", (long)(upper - lower), x);
  return 0;
}
C
"$szc" --stab-cc=gcc --stab-quiet -O1 -o places places.c || fail "places.c is not built"
for seed in {1..20}; do STABILIZER_OPTIONS=stack=1:seed=$seed:rerandomize=once ./places; done | sort -u >seen
[ "$(wc -l <seen)" -ge 3 ] || fail "step's frame has the same size with all seeds: $(cat seen)"
for seed in {1..5}; do STABILIZER_OPTIONS=stack=0:seed=$seed ./places; done | sort -u >seen
[ "$(wc -l <seen)" -eq 1 ] || fail "stack=0, and step's frame has several sizes: $(cat seen)"
finish
