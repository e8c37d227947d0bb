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
finish
