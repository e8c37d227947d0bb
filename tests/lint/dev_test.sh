#!/bin/bash
# SPDX-License-Identifier: MIT
# dev_test.sh SOURCE: ./dev says what it does, and refuses what it does not know.
set -u
. "$1/tests/lib.sh"
cd "$1" || exit 1
help=$(./dev help)
for verb in run test quick build packages; do
  grep -q "^  ./dev $verb " <<<"$help" || fail "the help does not have $verb: $help"
done
grep -q '^A second call skips .* PRESET=' <<<"$(tail -n 1 <<<"$help")" || fail "the help does not end with its last sentence: $help"
said=$(./dev nonsense 2>&1) && fail "nonsense is accepted"
[ "$said" = "$help" ] || fail "nonsense is not answered with the help: $said"
said=$(./dev quick no/such/folder 2>&1) && fail "a folder that is not there is accepted"
[ "$said" = "dev: there is no folder no/such/folder" ] || fail "of a folder that is not there it says: $said"

# ./dev run installs nothing that only tests need.
needed=$(sed -n '/^needed=(/,/^)/p' dev)
[ "$(wc -w <<<"$needed")" -gt 20 ] || fail "the packages of ./dev run were not found: $needed"
for package in libgtest-dev chromium valgrind gdb systemd meson mold libjemalloc-dev coz-profiler libclang-rt-22-dev zsh fish bolt-22 clang-19 lld-19 llvm-19-dev; do
  grep -qw -- "$package" <<<"$needed" && fail "./dev run installs $package"
done

# Without a terminal, progress is printed when it is made, and not in blocks; messages of compilers stay.
compile=$(sed -n '/^compile() {$/,/^}$/p' dev)
[ -n "$compile" ] || fail './dev has no function compile'
ninja() {
  echo 'ninja: Entering directory `build'"'"
  echo '@  5%@1.2@x'
  echo '@ 12%@3.9@x'
  for _ in {1..100}; do
    grep -q '^dev: compiled 12 % after 3 s$' "$work/progress" && { echo 'a warning in time'; return; }
    sleep 0.1
  done
  echo 'too late'
}
(build=build preset='' && eval "$compile" && compile) 2>"$work/progress"
[ "$(cat "$work/progress")" = 'dev: compiled 12 % after 3 s
a warning in time' ] || fail "the progress is not told in time: $(cat "$work/progress")"

# A build folder of another compiler than the preset's is begun anew, and others stay.
build_all=$(sed -n '/^build_all() {$/,/^}$/p' dev)
[ -n "$build_all" ] || fail './dev has no function build_all'
compiler=$(sed -n 's/.*"CMAKE_CXX_COMPILER": "\(.*\)".*/\1/p' CMakePresets.json)
mkdir -p "$work/tree/build" && cp CMakePresets.json "$work/tree"
# configured COMPILER: what ./dev build asks of cmake, and what cmake finds in a folder that was configured for COMPILER.
configured() (
  cd "$work/tree" || exit 1
  printf 'CMAKE_CXX_COMPILER:STRING=%s\nGTest_DIR:PATH=/usr/lib/cmake/GTest\nOLD:STRING=kept\n' "$1" >build/CMakeCache.txt
  : >build/build.ninja
  rm -f called
  install_packages() { :; }
  took() { :; }
  compile() { :; }
  cmake() { echo "cmake $*:" build/* >>called; }
  # shellcheck disable=SC2034
  needed=() only_packages=() only_tests=() preset=default build=build TARGETS=''
  eval "$build_all"
  build_all 2>/dev/null
  cat called 2>/dev/null
)
for same in "$compiler" "/usr/bin/$compiler"; do
  said=$(configured "$same")
  [ -z "$said" ] || fail "a build folder of $same is configured again: $said"
done
for other in clang++-19 /usr/bin/g++ "/opt/my-$compiler" "/usr/bin/${compiler}9"; do
  said=$(configured "$other")
  [ "$said" = 'cmake --preset default: build/*' ] || fail "a build folder of $other is not begun anew: $said"
done
finish
