#!/bin/bash
# SPDX-License-Identifier: MIT
# szc_programs_test.sh SOURCE BUILD [PROGRAM...]: builds each of tests/programs with clang and with szc and compares
# output and exit status, with code=0, with code=1 at several seeds, and after strip.
set -u
source_directory=$1
build_directory=$2
shift 2
. "$source_directory/tests/programs/build.sh"
seeds=${SEEDS:-1 2 3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
tests=0

fail() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

# same TITLE EXPECTED OPTIONS: the program prints what is expected; if not, what differs and what it complained of is shown.
same() {
  local got
  got=$(run "$work/ours" "$3")
  [ "$got" != "$2" ] || return 0
  fail "$1"
  diff <(echo "$2") <(echo "$got") | head -5
  head -3 "$work/ours/errors"
}

check() {
  local file=$1 compiler=$2 flags=$3
  local title="$(basename "$file") $compiler $flags"
  tests=$((tests + 1))
  build_both "$work" "$file" "$compiler" "$flags" || { fail "$title"; return; }
  local expected
  expected=$(run "$work/plain" "")
  same "$title: code=0" "$expected" code=0
  local seed
  for seed in $seeds; do
    local options=code=1:strict=1:seed=$seed:report=$work/report
    rm -f "$work/report"
    same "$title: seed $seed" "$expected" "$options"
    grep -q '"randomized": "yes"' "$work/report" || fail "$title: seed $seed: not randomized"
  done
  for strip in strip llvm-strip-19; do
    cp "$work/ours/program" "$work/ours/kept"
    $strip "$work/ours/program" 2>"$work/log" || fail "$title: $strip: $(cat "$work/log")"
    same "$title: after $strip" "$expected" strict=1:seed=9
    cp "$work/ours/kept" "$work/ours/program"
  done
}

export HAZARD_MS=60
while IFS='|' read -r file compiler flags; do check "$file" "$compiler" "$flags"; done < <(variants_of "$@")
echo "$tests variants, $failures failures"
[ "$failures" -eq 0 ]
