#!/bin/bash
# SPDX-License-Identifier: MIT
# The versions of clang that szc has a pass for, a clang that a user adds, and gcc.
source "$(dirname "$0")/lib.sh"
source_directory=$1
export HOME=$work/home CCACHE_DIR=${CCACHE_DIR:-$HOME/.cache/ccache}
mkdir "$HOME"
passes=$HOME/.local/share/stabd/passes

cat >part.cc <<'C'
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>
struct Deep { int depth; };
__attribute__((noinline)) int descend(int depth, std::vector<std::string>& names) {
  std::string name = "level " + std::to_string(depth);
  if (depth == 0) throw Deep{static_cast<int>(names.size())};
  names.push_back(name);
  return descend(depth - 1, names) + static_cast<int>(name.size());
}
__attribute__((noinline)) long sum_of(int rounds) {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) {
    std::vector<std::string> names;
    try {
      sum += descend(i % 40, names);
    } catch (const Deep& deep) {
      sum += deep.depth;
    }
  }
  return sum;
}
int main() { std::printf("%ld\n", sum_of(20000)); }
C

# pads NAME BINARY: frames have pads, and functions move.
pads() {
  local report=$work/$1.report padded
  moves "$1" "$2"
  for options in stack=1:period=1ms code=0:stack=1:period=2ms stack=1:rerandomize=once stack=0; do
    rm -f "$report"
    equal "$1 $options: output" "$(STABILIZER_OPTIONS=$options:report=$report "$2")" 390000
    [[ $options != *stack=1* ]] && continue
    padded=$(grep -o '"padded": [0-9]*' "$report" | head -1)
    [ "${padded#*: }" -ge 3 ] || fail "$1 $options: $padded frames have pads"
    lacks "$1 $options: why" "$report" why_no_pads
  done
}

# Plans that set no compiler build with the clang that szc calls.
default=$("$szc" --stab-version | sed -n 's/^compiler: .*\(clang-[0-9]*\).*/\1/p')
[ -n "$default" ] || fail 'szc --stab-version names no clang'
"$(dirname "$szc")/stabctl" keys >keys
has 'the default of plans' keys "\`variables.CC\` | a text of at most 64 KiB without NUL | the C compiler | \`\"$default\"\`"

# Each version that README.md and doc/limits.md name is here, with its pass, and does what the version does that builds szc.
"$szc" --stab-compilers >versions
for version in 16 19 22; do
  has "clang $version has a pass" versions "clang $version: "
  clang=clang-$version
  command -v $clang >/dev/null || { fail "$clang is not installed"; continue; }
  for flags in -O0 -O2 '-O2 -flto' '-O2 -fno-omit-frame-pointer -fPIC' '-O3 -flto=thin'; do
    rm -f program
    # shellcheck disable=SC2086
    STAB_CLANG=$clang expect "$clang $flags" "$szcxx" $flags part.cc -o program
    [ ! -s .err ] || { fail "$clang $flags: speaks"; cat .err >&2; }
    pads "$clang${flags// /_}" ./program
  done
  # The pass itself, and frames in every mode of compilation.
  STAB_CLANG=$clang expect "the pass of $clang" bash "$source_directory/instrumenter/pass/pass_test.sh" "$source_directory" "$build_directory"
  [ "$version" = 22 ] || STAB_CLANG=$clang expect "frames of $clang" bash "$source_directory/tests/szc/stack_test.sh" "$source_directory" "$build_directory"
done
"$szc" --stab-version >out
has 'the version names them' out 'pads: for clang 16, 19 or 22'

# gcc compiles, szc links: functions move, exceptions find their handlers, and one line says why few frames have pads.
export STAB_CC=gcc
for flags in -O0 -O2 '-O3 -fPIC' '-O2 -no-pie -fno-pie' '-O2 -static-libstdc++ -static-libgcc' '-O2 -fuse-ld=lld'; do
  rm -f program
  # shellcheck disable=SC2086
  expect "gcc $flags" "$szcxx" $flags part.cc -o program
  equal "gcc $flags: lines" "$(grep -c . .err)" 1
  has "gcc $flags: pads" .err 'frames in program get small pads or none: '
  moves "gcc $flags" ./program
  for options in period=1ms rerandomize=once heap=1:period=2ms stack=1:period=1ms stack=1:seed=7 stack=1:code=0:period=1ms code=0; do
    equal "gcc $flags $options: output" "$(STABILIZER_OPTIONS=$options:report=$work/gcc.report ./program)" 390000
  done
done
STAB_CC='' STAB_CLANG=g++ expect 'gcc by the older name' "$szcxx" part.cc -o program
equal 'gcc by the older name: lines' "$(grep -c . .err)" 1
moves 'gcc by the older name' ./program
awk -F'[:,]' '{ for (i = 1; i < NF; ++i) { if ($i ~ /"moved"/) moved = $(i + 1); if ($i ~ /"functions"/) all = $(i + 1) } } END { exit !(moved > 5) }' gcc.report ||
  fail "gcc: few functions move: $(head -1 gcc.report)"
echo '__thread int common __attribute__((common)); int main(void) { return common++; }' >common.c
refute 'a common thread-local variable' "$szc" common.c -o program
has 'a common thread-local variable' .err 'lld put the thread-local variable common into memory that all threads share'
expect 'objects of gcc and clang' env STAB_CC=clang-22 "$szcxx" -O1 -c part.cc -o part.o
expect 'objects of gcc and clang' "$szcxx" --stab-quiet part.o -o program
[ ! -s .err ] || fail '--stab-quiet speaks'
equal 'objects of gcc and clang: output' "$(STABILIZER_OPTIONS=stack=1:period=1ms ./program)" 390000
equal 'the flag wins over the variable' "$("$szc" --stab-cc=clang-16 --version | head -1)" "$(clang-16 --version | head -1)"
equal 'a command' "$(STAB_CC='ccache gcc' "$szc" -dumpversion)" "$(gcc -dumpversion)"
expect 'only compiled' "$szcxx" -c part.cc -o part.o
[ ! -s .err ] || { fail 'only compiled: speaks'; cat .err >&2; }
for flags in '-static' '-fuse-ld=bfd'; do
  # shellcheck disable=SC2086
  expect "gcc $flags" "$szcxx" $flags part.cc -o program
  has "gcc $flags: why it stays" .err 'szc: note: program is not randomized: '
  equal "gcc $flags: output" "$(./program)" 390000
done
echo 'int b(void);' >b.h
expect 'gcc precompiles a header' "$szc" -x c-header b.h -o b.h.gch
expect 'gcc precompiles a header of C++' "$szcxx" b.h
echo 'int b(void) { return 7; }' >b.c && "$szc" -c b.c && ar rcs libb.a b.o
expect 'gcc links what stands behind -Wl' "$szc" -shared -o libb.so -Wl,--whole-archive,libb.a,--no-whole-archive
has 'gcc links what stands behind -Wl' .err 'frames in libb.so'
echo -fuse-ld=bfd >linker.rsp
expect 'a linker in a response file' "$szcxx" @linker.rsp part.cc -o program
has 'a linker in a response file' .err 'the linker is ld.bfd'
expect 'a linker by path' "$szcxx" --ld-path="$(command -v ld.bfd)" part.cc -o program
has 'a linker by path' .err 'the linker is ld.bfd'
refute 'a linker by path that is not there' "$szcxx" --ld-path=/nowhere/ld part.cc
refute "clang's name for its default linker" "$szcxx" -fuse-ld=ld part.cc
has "clang's name for its default linker: gcc refuses it" .err '-fuse-ld=ld'
for name in c89-gcc c99-gcc; do
  command -v $name >/dev/null || continue
  STAB_CC=$name expect "$name" "$szc" --stab-strict --stab-quiet -shared -fPIC b.c -o libb.so
  moves "$name" libb.so
done
for name in "$(gcc -dumpmachine)-gcc" gcc-12 cc; do
  command -v "$name" >/dev/null || continue
  STAB_CC=$name expect "szc++ with $name" "$szcxx" --stab-quiet part.cc -o program
  equal "szc++ with $name: output" "$(./program)" 390000
done
expect 'AddressSanitizer of gcc' "$szcxx" -fsanitize=address part.cc -o program
has 'AddressSanitizer of gcc' .err 'program is not randomized: '
expect 'a library that only a library needs' bash -c 'echo "int c(void) { return 9; }" >c.c && echo "int c(void); int d(void) { return c(); }" >d.c &&
  echo "int d(void); int main(void) { return d() - 9; }" >e.c && gcc -shared -fPIC c.c -o libc9.so && gcc -shared -fPIC d.c -o libd9.so &&
  "$0" --stab-quiet e.c ./libd9.so ./libc9.so -Wl,-rpath,. -o program && ./program' "$szc"
refute 'gcc -flto' "$szcxx" -flto part.cc
has 'gcc -flto: why' .err "gcc's -flto needs a linker that loads gcc's plugin"
refute 'a linker that is not there' "$szcxx" -fuse-ld=none part.cc
has 'a linker that is not there: gcc says so' .err '-fuse-ld=none'
unset STAB_CC
cat >sum.f90 <<'F'
program sum
  integer :: i
  real(8) :: s, f
  s = 0
  do i = 1, 3000000
    s = s + f(real(i, 8))
  end do
  print '(F6.4)', s
end program
real(8) function f(x)
  real(8) :: x
  f = 1 / (x * x)
end function
F
expect 'Fortran' "$szc" --stab-cc=gfortran --stab-quiet -O1 sum.f90 -o program
moves 'Fortran' ./program
equal 'Fortran: output' "$(STABILIZER_OPTIONS=period=1ms ./program | tr -d ' ')" 1.6449
# An internal procedure that is passed on needs code on the stack, as with ld.
cat >inner.f90 <<'F'
module applies
contains
  integer function twice(f, x)
    interface
      integer function f(x)
        integer, intent(in) :: x
      end function f
    end interface
    integer, intent(in) :: x
    twice = f(f(x))
  end function twice
end module applies
program inner
  use applies
  integer :: step, i, sum
  sum = 0
  do i = 1, 3000000
    step = mod(i, 3)
    sum = mod(sum + twice(add, i), 1000003)
  end do
  print '(i0)', sum
contains
  integer function add(x)
    integer, intent(in) :: x
    add = x + step
  end function add
end program inner
F
gfortran -O1 inner.f90 -o plain && ./plain >inner.out
for off in '' --stab-off; do
  # shellcheck disable=SC2086
  expect "Fortran's internal procedures $off" "$szc" $off --stab-cc=gfortran -O1 inner.f90 -o program
  has "Fortran's internal procedures $off: note" .err 'executable stack'
  [[ $(readelf -lW program) =~ GNU_STACK.*RWE ]] || fail "Fortran's internal procedures $off: the stack is not executable"
  equal "Fortran's internal procedures $off: output" "$(STABILIZER_OPTIONS=period=1ms ./program)" "$(cat inner.out)"
done

# A clang of the user's own: the program that runs decides, not its name.
mkdir -p own/bin
real=$(readlink -f "$(command -v clang-22)")
cp "$real" own/bin/clang-trunk
ln -s "$(dirname "$real")/llvm-config" own/bin/llvm-config
ln -s "$(dirname "$(dirname "$real")")/lib" own/lib
printed() { STAB_CLANG=$work/own/bin/clang-trunk "$szc" --stab-print -c part.cc; }
printed >out
has 'a version that szc knows' out "/stab-pass-22.so"
expect 'a clang is added' "$stabctl" compiler add own/bin/clang-trunk
has 'a clang is added: what for' .out "szc now adds random pads to the stack frames of programs that $work/own/bin/clang-trunk compiles"
printed >out
has 'the pass of the clang that was added' out "-fpass-plugin=$passes/"
STAB_CLANG=$work/own/bin/clang-trunk expect 'the clang that was added' "$szcxx" -O2 part.cc -o program
pads own ./program
"$stabctl" compiler list --json >out
has 'the list as JSON' out "\"compiler\": \"$work/own/bin/clang-trunk\""
has 'the list as JSON: it is as it was' out '"changed": false'
"$stabctl" compiler list >out
has 'the list' out "$work/own/bin/clang-trunk: "
lacks 'the list: it is as it was' out 'not used'
# Built anew it may be another: szc's own pass for its version serves again, and the list says so.
touch own/bin/clang-trunk
printed >out
has 'a clang that has changed' out "/stab-pass-22.so"
"$stabctl" compiler list >out
has 'a clang that has changed: the list' out 'not used: the compiler has changed or is gone; add it again'

# A pass that others could have written, or that was built for another szc, is not used.
expect 'a clang is added again' "$stabctl" compiler add own/bin/clang-trunk
printed >out
has 'a clang is added again' out "-fpass-plugin=$passes/"
chmod g+w "$passes"
printed >out
has 'a folder that others may write to' out "/stab-pass-22.so"
chmod g-w "$passes"
sed -i '3s/^/other /' "$passes"/*.compiler
printed >out
has 'a pass for another szc' out "/stab-pass-22.so"
# A wrapper that starts another version than before.
mkdir -p wrapped/bin
ln -s "$(command -v clang-16)" wrapped/current
printf '#!/bin/sh\nexec %s/wrapped/current "$@"\n' "$work" >wrapped/bin/clang && chmod +x wrapped/bin/clang
ln -s "$(dirname "$(readlink -f "$(command -v clang-16)")")/llvm-config" wrapped/bin/llvm-config
expect 'a wrapper is added' "$stabctl" compiler add wrapped/bin/clang
STAB_CC=$work/wrapped/bin/clang "$szc" --stab-print -c part.cc >out
has 'a wrapper is added' out "-fpass-plugin=$passes/"
ln -sfn "$(command -v clang-22)" wrapped/current
STAB_CC=$work/wrapped/bin/clang "$szc" --stab-print -c part.cc >out
has 'a wrapper of another version' out "/stab-pass-22.so"
refute 'headers of another version' "$stabctl" compiler add wrapped/bin/clang
has 'headers of another version: why' .err 'has another version: install the development files'
# A wrapper gets the lld of the clang that it starts, because another lld may not read this clang's bitcode.
mkdir wrappers
for version in 16 19 22; do
  printf '#!/bin/sh\nexec %s "$@"\n' "$(command -v clang-$version)" >wrappers/clang-$version && chmod +x wrappers/clang-$version
  for flto in -flto -flto=thin; do
    expect "a wrapper of clang $version, $flto" "$szc" --stab-cc="$work/wrappers/clang-$version" -O1 $flto -shared -fPIC b.c -o libb.so
    moves "a wrapper of clang $version, $flto" libb.so
  done
done
# Compilers from between two releases, or from other vendors, have no pass of ours.
for version in 'clang version 22.0.0git (https://example.org 123)' 'AMD clang version 16.0.3 (build 1)'; do
  printf '#!/bin/sh\necho "%s"\n' "$version" >other && chmod +x other
  STAB_CC=$work/other "$szc" --stab-print -c part.cc >out
  has "$version" out part.cc
  lacks "$version" out fpass-plugin
done
# The library's name tells, too: releases begin at 22.1, and 22.0 is a snapshot.
mkdir snapshot
echo 'int llvm;' >llvm.c
printf '#include <unistd.h>\nextern int llvm;\nint main(int n, char **v) { return execv(REAL, v) + n + llvm; }\n' >start.c
for minor in 0 1; do
  clang-22 -shared -fPIC -Wl,-soname,libLLVM.so.22.$minor llvm.c -o snapshot/libLLVM.so.22.$minor &&
    clang-22 "-DREAL=\"$(command -v clang-22)\"" start.c snapshot/libLLVM.so.22.$minor "-Wl,-rpath,$work/snapshot" -o snapshot/clang ||
    fail "a clang that needs libLLVM.so.22.$minor"
  STAB_CC=$work/snapshot/clang "$szc" --stab-print -c part.cc >out
  has "a clang with libLLVM.so.22.$minor" out part.cc
  if [ $minor = 0 ]; then lacks 'a snapshot' out fpass-plugin; else has 'a release' out "/stab-pass-22.so"; fi
done

# A compiler that calls szc, or that is szc, would never end.
mkdir wraps
for name in gcc g++ clang-22 clang++-22; do
  printf '#!/bin/sh\n%s "%s" --stab-cc=%s "$@"\n' "$([ $name = g++ ] || echo exec)" "$szc" $name >wraps/$name
done
chmod +x wraps/*
ln -s "$szc" wraps/cc
for name in gcc g++ clang-22; do
  for driver in "$szc" "$szcxx"; do
    PATH=$work/wraps:$PATH refute "$(basename "$driver") with a $name that calls szc" timeout -s KILL 60 "$driver" --stab-cc=$name -c b.c
    has "$(basename "$driver") with a $name that calls szc: why" .err 'calls szc again, so compiling would never end: set STAB_CC'
  done
done
PATH=$work/wraps:$PATH refute 'a cc that is szc' timeout -s KILL 60 "$szc" --stab-cc=cc -c b.c
has 'a cc that is szc: why' .err 'is szc itself, so compiling would never end'
printf '#!/bin/sh\nexec "%s" --stab-cc=%s "$@"\n' "$szc" "$(command -v gcc)" >wraps/gcc
PATH=$work/wraps:$PATH expect 'a gcc that calls szc with the real one' "$szc" --stab-cc=gcc --stab-quiet b.c -shared -o libb.so

# A compiler that says that it is a release which szc has a pass for, and does not load that pass, as one with
# assertions: it is tried once.
printf '#!/bin/sh\necho "$*" >>"%s/calls"\n[ "$1" = --version ] && exec clang-22 --version\nexec clang-16 "$@"\n' "$work" >asserts && chmod +x asserts
for try in 1 2; do
  STAB_CC=$work/asserts expect "a compiler that does not load the pass, $try" "$szcxx" -O1 part.cc -o program
  has "a compiler that does not load the pass, $try: why" .err "does not load szc's pass for clang 22"
  moves "a compiler that does not load the pass, $try" ./program
done
equal 'a compiler that does not load the pass: trials' "$(grep -c fpass-plugin calls)" 1

# What a call that was killed left is removed by the next one, unless another call works there.
mkdir "$passes/new-killed" "$passes/new-working" && echo >"$passes/new-killed/all.cc"
exec 9<"$passes/new-working"
flock -n 9
expect 'a clang is added after a call that was killed' "$stabctl" compiler add own/bin/clang-trunk
[ ! -e "$passes/new-killed" ] || fail 'what a killed call left is still there'
[ -e "$passes/new-working" ] || fail 'the folder of a call that still works was removed'
exec 9<&-
rmdir "$passes/new-working"

# A compiler that cannot be added says why, and leaves the added ones as they are.
ls "$passes" >before
refute 'gcc is added' "$stabctl" compiler add gcc
has 'gcc is added: why' .err 'is not clang'
refute 'no program' "$stabctl" compiler add ./nowhere
has 'no program: why' .err 'there is no program ./nowhere'
rm own/bin/llvm-config
printf '#!/bin/sh\necho "clang version 99.0.0"\n' >own/bin/clang-99 && chmod +x own/bin/clang-99
refute 'no headers' "$stabctl" compiler add own/bin/clang-99
has 'no headers: why' .err 'there is no llvm-config beside'
printf '#!/bin/sh\n[ "$1" = --version ] && exec llvm-config-22 --version\necho /nowhere\n' >own/bin/llvm-config && chmod +x own/bin/llvm-config
refute 'headers that are not there' "$stabctl" compiler add own/bin/clang-trunk
has 'headers that are not there: why' .err 'cannot compile the pass with the LLVM headers that'
HOME='' refute 'no home' "$stabctl" compiler add clang-22
has 'no home: why' .err 'set HOME to the absolute path of a folder'
refute 'an empty name' "$stabctl" compiler add ''
ls "$passes" | diff before - || fail 'something was left behind'
refute 'no clang is named' "$stabctl" compiler add
refute 'no clang is named to szc' "$szc" --stab-add-compiler
finish
