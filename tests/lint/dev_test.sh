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
said=$(./dev nonsense 2>&1) && fail "nonsense is accepted"
[ "$said" = "$help" ] || fail "nonsense is not answered with the help: $said"
said=$(./dev quick no/such/folder 2>&1) && fail "a folder that is not there is accepted"
[ "$said" = "dev: there is no folder no/such/folder" ] || fail "of a folder that is not there it says: $said"

# ./dev run installs nothing that only tests need.
needed=$(sed -n '/^needed=(/,/^)/p' dev)
[ "$(wc -w <<<"$needed")" -gt 20 ] || fail "the packages of ./dev run were not found: $needed"
for package in libgtest-dev chromium valgrind gdb systemd meson mold libjemalloc-dev coz-profiler libclang-rt-19-dev bolt-22; do
  grep -qw -- "$package" <<<"$needed" && fail "./dev run installs $package"
done
finish
