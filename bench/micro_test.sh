#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bench/micro measures each of its programs in each of its arms.
set -euo pipefail
. "$1/tests/lib.sh"
STAB_BIN=$build_directory/bin "$1/bench/micro" --quick --period 20ms --json "$work/json" >"$work/out" 2>"$work/err" ||
  fail "bench/micro ends with $?: $(cat "$work/out" "$work/err")"
mapfile -t names < <(sed -n 's/^    {"\([a-z_]*\)", .*},$/\1/p' "$1/bench/micro_programs.cc")
[[ ${#names[@]} -ge 10 ]] || fail "bench/micro_programs.cc has only the programs ${names[*]}"
for name in "${names[@]}"; do
  for arm in off code all; do
    grep -q "^$name  *$arm/plain  *[0-9.]" "$work/out" || fail "no ratio of $arm for $name: $(cat "$work/out")"
  done
done
[[ $(grep -c '"problem": ""' "$work/json") == $((4 * ${#names[@]})) ]] || fail "some runs are missing: $(cat "$work/json")"

# A single program, and an option that does not exist.
STAB_BIN=$build_directory/bin "$1/bench/micro" --quick fork >"$work/out" 2>"$work/err" || fail "bench/micro fork: $(cat "$work/err")"
[[ $(grep -c '/plain ' "$work/out") == 3 ]] || fail "bench/micro fork: $(cat "$work/out")"
status=0
"$1/bench/micro" --fast 2>"$work/err" || status=$?
[[ $status == 2 ]] && grep -q '^usage: bench/micro' "$work/err" || fail "an unknown option: exit code $status"
