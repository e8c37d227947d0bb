#!/bin/bash
# SPDX-License-Identifier: MIT
# checked_test.sh SOURCE BUILD: programs whose functions, frames and blocks move are right with all checks of the
# runtime on (runtime/base/check.h), and a check that is broken ends the program.
set -u
. "$1/tests/lib.sh"
# szc finds its parts relative to its own file, so a tree with another runtime has copies of the programs.
tree=$work/tree
mkdir -p "$tree/bin" "$tree/lib"
cp "$build_directory/bin/szc" "$tree/bin" && ln -s szc "$tree/bin/szc++" && cp -r "$build_directory/libexec" "$tree" || exit 1
ln -s "$build_directory/lib/"{stab-library.o,stab-pass-22.so,checked/stab-runtime.o} "$tree/lib"
ln -s "$build_directory/include" "$tree/include"

# Breaks what the runtime keeps, by names that only its own code and what is linked with it see.
cat >"$work/breaks.cpp" <<'CPP'
#include <stdlib.h>
#include "runtime/image/image.h"
#include "runtime/image/pads.h"
#include "runtime/malloc/memory/arena.h"
#include "stabilizer.h"
using namespace stab;
static void* volatile block;
__attribute__((noinline)) static int caught(int n) {
  try {
    throw n;
  } catch (int what) {
    return what;
  }
}
static void break_pads(rt::Image& image, void*) {
  for (uint32_t f = 0; f < image.count(); ++f)
    if (image.present != 0 && (image.uses[f] & rt::keeps_pad) != 0) ++image.layouts[0].pads[f];
}
// However long an epoch is held up, which puts the next one off.
static uint32_t present;
static void find_present(rt::Image& image, void*) { present += image.present; }
static void move() {
  for (const uint32_t before = present; present == before;) {
    stab_randomize_now();
    present = 0;
    rt::for_each_image(find_present, nullptr);
  }
}
int main(int, char** arguments) {
  const char what = arguments[1] ? *arguments[1] : 0;
  if (what == 's') --heap::span_of(block = malloc(40))->free_slots;
  int sum = 0;
  for (int i = 0; i < 300; ++i) {
    for (int b = 0; b < 100; ++b) block = malloc(40);
    sum += caught(i) - i;
    move();
    if (what == 'p' && i % 100 == 50) rt::for_each_image(break_pads, nullptr);
  }
  return sum;
}
CPP
flags=(-O2 -std=c++20 -w "-I$source_directory" "-I$build_directory/include" "$work/breaks.cpp")
"$tree/bin/szc++" "${flags[@]}" -o "$work/checked" || fail "breaks.cpp is not built"
"$build_directory/bin/szc++" "${flags[@]}" -o "$work/usual" || fail "breaks.cpp is not built"
export STABILIZER_OPTIONS=strict=1:stack=1:heap=1:allocator=shuffled:period=1ms:budget=off:seed=1

# breaks WHAT INVARIANT: with this argument the checked program says that the invariant does not hold, the usual one nothing.
breaks() {
  { timeout 60 "$work/checked" "$1" >/dev/null 2>"$work/said"; } 2>/dev/null
  grep -qE "$2 does not hold" "$work/said" || fail "after $1 nothing ends the program: $(cat "$work/said")"
  { timeout 60 "$work/usual" "$1" >/dev/null 2>"$work/said"; } 2>/dev/null
  ! grep -qE "$2 does not hold" "$work/said" || fail "programs of users have the check of $2"
}
"$work/checked" || fail "status $? where nothing is broken"
breaks slots 'slabs.cc:[0-9]+: Slabs 2' # of the expensive ones
breaks pads 'pads.cc:[0-9]+: Pads 2'    # of the others
for check in 'Layout 2 does not hold: is_valid(image, \*layout)' 'Epochs 4 does not hold: !running'; do
  grep -q "$check" "$work/checked" || fail "this check is not on: $check"
done
unset STABILIZER_OPTIONS

# right FLAGS PROGRAMS: each of them, in the variant that these flags make.
moving=strict=1:rerandomize=repeated
options="code=1:stack=1:heap=1:allocator=shuffled:$moving:period=1ms
  code=1:stack=1:heap=1:allocator=bitmap:$moving:period=2ms"
right() {
  "$source_directory/bench/correctness" --build "$tree" --all --runs 1 --jobs 2 --options "$options" --flags "$1" --programs "$2" ||
    failures=1
}
right -O2 "epoch_contexts.c epoch_copied_jumps.c epoch_dispatch.c epoch_forks.c epoch_frames.c epoch_kept_places.c
  epoch_libraries.cpp epoch_long_jumps.c epoch_registers.c epoch_signals.c epoch_steps.cpp
  epoch_outer_loops.c epoch_thread_storm.cpp vtable_words.cpp"
# Its only function has no pad, and strict=1 refuses to ask for pads in such a program.
options=${options//stack=1/stack=0} right -O2 epoch_one_function.c
right -O0 constants.c
for flags in -O2 '-O2 -fno-omit-frame-pointer' -O3; do right "$flags" "foreign_frames.c foreign_parts.cpp"; done
right '-O2 -std=c++14' epoch_exceptions.cpp
right '-O2 -std=c++20 -fvisibility=hidden' epoch_vtables.cpp
finish
