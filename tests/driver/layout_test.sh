#!/bin/bash
# SPDX-License-Identifier: MIT
# --stab-link-order and --stab-link-padding: other layouts by seed, the same program.
source "$(dirname "$0")/lib.sh"

# 60 functions, tables, strings and constructors in four files and an archive.
for file in 0 1 2 3; do
  for i in $(seq 0 14); do
    n=$((file * 15 + i))
    echo "int f$n(int x) { return x * $n + 3; } int data$n = $n + 1; const int table${n}[5] = {$n, 1, 2, 3, $n};"
  done >f$file.c
done
{
  echo '#include <stdio.h>'
  echo 'static int order; __attribute__((constructor(200))) static void first(void) { order = order * 10 + 1; }'
  echo '__attribute__((constructor(201))) static void second(void) { order = order * 10 + 2; }'
  for n in $(seq 0 59); do echo "int f$n(int); extern int data$n; extern const int table${n}[];"; done
  echo 'int main(void) { long sum = order; const char *words[] = {"one", "two"};'
  for n in $(seq 0 59); do echo "sum = sum * 31 + f$n(data$n) + table${n}[4];"; done
  echo 'printf("%ld %d %s\n", sum, order, words[1]); return 0; }'
} >main.c
flags=(-O1 -fdata-sections)
"$szc" "${flags[@]}" -c main.c f0.c f1.c f2.c f3.c || exit 1
ar rcs ordinary.a f0.o f1.o
ar rcsT thin.a f2.o f3.o

# link OUTPUT FLAGS...
link() {
  local output=$1
  shift
  expect "link $output" "$szc" main.o ordinary.a thin.a "$@" -o "$output"
}
# The functions, variables and tables in the order of their addresses.
order() { nm -n "$1" | sed -n 's/.* [A-Za-z] \(\(f\|data\|table\)[0-9]*\|main\)$/\1/p'; }
address() { nm "$1" | sed -n "s/^0*\([0-9a-f]*\) [A-Za-z] $2\$/\1/p"; }

link plain --stab-off
./plain >expected
has 'constructors run in order' expected ' 12 two'

for kind in order padding; do
  link first --stab-link-$kind=1 --stab-off
  link again --stab-link-$kind=1 --stab-off
  link other --stab-link-$kind=2 --stab-off
  link random --stab-link-$kind=1
  moves "$kind" random
  for program in first other random; do
    ./$program >out
    cmp -s out expected || fail "$kind: $program prints $(cat out)"
  done
  cmp -s first again || fail "$kind: the same seed gives another program"
  ! cmp -s first other || fail "$kind: another seed gives the same program"
  export STAB_LINK_${kind^^}=1
  link again --stab-off
  unset STAB_LINK_${kind^^}
  cmp -s first again || fail "$kind: the environment does something else than the flag"
done

# Shuffled: another order. Padded: the same order, other distances.
link shuffled --stab-off --stab-link-order=5
[ "$(order plain)" != "$(order shuffled)" ] || fail 'link order: nothing moved'
declare -A seen distance
for seed in $(seq 1 12); do
  link padded --stab-off --stab-link-padding=$seed
  [ "$(order plain)" = "$(order padded)" ] || fail "padding $seed: another order"
  [ "$(./padded)" = "$(cat expected)" ] || fail "padding $seed: another output"
  for name in main data0 table0; do seen[$name,$(address padded $name)]=1; done
  for pair in 'f0 f14' 'f15 f29' 'f30 f59'; do
    set -- $pair
    distance[$pair,$((0x$(address padded "$2") - 0x$(address padded "$1")))]=1
  done
done
for name in main data0 table0; do
  count=$(printf '%s\n' "${!seen[@]}" | grep -c "^$name,")
  [ "$count" -ge 8 ] || fail "padding: $name has only $count addresses in 12 links"
done
for pair in 'f0 f14' 'f15 f29' 'f30 f59'; do
  count=$(printf '%s\n' "${!distance[@]}" | grep -c "^$pair,")
  [ "$count" -ge 2 ] || fail "padding: the distance of $pair never changes"
done

# GNU ld and gold pad, too.
for linker in bfd gold; do
  have ld.$linker || continue
  link by_$linker -fuse-ld=$linker --stab-link-padding=3 --stab-off
  ./by_$linker >out
  cmp -s out expected || fail "padding with $linker: another output"
  link unpadded -fuse-ld=$linker --stab-off
  ! cmp -s by_$linker unpadded || fail "padding with $linker: nothing is padded"
done

# With a profile, lld places functions that call each other often beside each other, unless the order is random.
{
  for n in $(seq 0 11); do
    printf '.section .text.f%d,"ax",@progbits\n.globl f%d\n.type f%d,@function\nf%d: ret\n.size f%d, .-f%d\n' $n $n $n $n $n $n
  done
  for n in $(seq 0 10); do echo ".cg_profile f$n, f$((n + 1)), 100"; done
  echo '.section .note.GNU-stack,"",@progbits'
} >profile.s
for compiler in clang-16 clang-19 clang-22; do
  have $compiler || continue
  for off in --stab-off --stab-quiet; do
    declare -A orders=()
    for seed in 1 2 3 4; do
      expect "a profile, $compiler $off" "$szc" --stab-cc=$compiler -shared -nostdlib profile.s $off --stab-link-order=$seed -o profile.so
      orders[$(order profile.so | tr '\n' ' ')]=1
    done
    equal "a profile, $compiler $off: orders" "${#orders[@]}" 4
  done
done
# Flags that order functions do not go together with a random order.
printf 'f0\nf3\n' >wanted
for flag in --symbol-ordering-file=wanted --call-graph-profile-sort=hfsort; do
  expect "$flag" "$szc" -shared -nostdlib profile.s --stab-off --stab-link-order=1 -Wl,$flag -o profile.so
  equal "$flag: lines" "$(grep -c . .err)" 1
  has "$flag: why" .err '--stab-link-order'
  has "$flag: which" .err "${flag%=*}"
  refute "$flag, strict" "$szc" -shared -nostdlib profile.s --stab-off --stab-strict --stab-link-order=1 -Wl,$flag -o profile2.so
  [ ! -e profile2.so ] || fail "$flag: --stab-strict leaves a file"
  expect "$flag alone" "$szc" -shared -nostdlib profile.s --stab-off -Wl,$flag -o profile.so
  [ ! -s .err ] || { fail "$flag alone: speaks"; cat .err >&2; }
done

# What must survive padding.
expect 'padding with control-flow protection' "$szc" -shared -nostdlib -fPIC -fcf-protection f0.c --stab-off --stab-link-padding=3 -o cf.so
readelf -nW cf.so >notes
has 'padding keeps the property of control-flow protection' notes IBT
link kept --stab-link-padding=3 --stab-off -Wl,--gc-sections
link unpadded --stab-off -Wl,--gc-sections
gaps=$((0x$(address kept main) - 0x$(address unpadded main)))
[ "$gaps" -ne 0 ] || fail 'padding: --gc-sections drops the gaps'
expect 'padding of a shared library' "$szc" -shared -fPIC f0.c --stab-link-padding=3 -o libf.so
moves 'padding of a shared library' libf.so
expect 'padding of C++' sh -c "echo 'int main() { try { throw 1; } catch (int) { return 0; } }' | $szcxx -x c++ - --stab-link-padding=3 -o cxx && ./cxx"
expect 'padding with LTO' "$szc" --stab-cc=clang-19 -flto main.c f0.c f1.c f2.c f3.c --stab-link-padding=3 -o lto
has 'padding with LTO: lld 19 puts no gaps between functions, and says so' .err 'no gaps between the functions of lto'
./lto >out
cmp -s out expected || fail 'padding with LTO: another output'
sed 's/\bint f/__attribute__((noinline)) int f/' f0.c >g0.c
for flto in -flto -flto=thin; do
  declare -A gaps=()
  for seed in 1 2 3 4 5 6; do
    expect "padding with $flto by lld 22" "$szc" --stab-cc=clang-22 -O1 $flto main.c g0.c f1.c f2.c f3.c --stab-link-padding=$seed -o lto
    [ ! -s .err ] || { fail "padding with $flto by lld 22: speaks"; cat .err >&2; }
    moves "padding with $flto by lld 22" lto
    for options in rerandomize=once stack=1:period=1ms; do
      STABILIZER_OPTIONS=$options ./lto >out
      cmp -s out expected || fail "padding with $flto by lld 22, $options: another output"
    done
    gaps[$((0x$(address lto f14) - 0x$(address lto f0)))]=1
  done
  [ ${#gaps[@]} -ge 2 ] || fail "padding with $flto by lld 22: the distance of f0 and f14 never changes"
  expect "padding with $flto again" "$szc" --stab-cc=clang-22 -O1 $flto main.c g0.c f1.c f2.c f3.c --stab-link-padding=6 -o again
  cmp -s lto again || fail "padding with $flto: the same seed gives another program"
done
mkdir libs && mv ordinary.a libs/libordinary.a
expect 'padding of -l' "$szc" main.o thin.a -Llibs -lordinary --stab-off --stab-link-padding=4 -o byname
./byname >out
cmp -s out expected || fail 'padding of -l: another output'
mkdir tmp
TMPDIR=$PWD/tmp expect 'padding cleans up' "$szc" main.o thin.a libs/libordinary.a --stab-link-padding=4 -o clean
equal 'padding cleans up' "$(ls tmp)" ''
refute 'a seed that is no number' "$szc" main.o --stab-link-padding=x
STAB_LINK_ORDER=x refute 'a seed in the environment that is no number' "$szc" main.o thin.a libs/libordinary.a -o x
has 'a seed in the environment that is no number' .err 'STAB_LINK_ORDER'
finish
