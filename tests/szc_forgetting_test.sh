#!/bin/bash
# SPDX-License-Identifier: MIT
# szc_forgetting_test.sh SOURCE BUILD: programs whose threads sleep all the time, be they many, that keep jmp_bufs or places of the code, live
# through more layouts than fit at a time, and right up to their end.
set -u
source_directory=$1 build_directory=$2
. "$source_directory/tests/programs/build.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
most_layouts=64

# forgets FILE FLAGS [MILLISECONDS]
forgets() {
  local folder=$work/${1%.*} epochs
  mkdir -p "$folder/ours" && build "$folder/ours" "$programs/$1" "$szc" "$szc" "$2" >"$folder/log" 2>&1 ||
    { cat "$folder/log"; failures=$((failures + 1)); return; }
  HAZARD_MS=${3:-1500} run "$folder/ours" "code=1:strict=1:budget=off:period=2ms:seed=3:poison=1:report=$folder/report" >"$folder/output"
  epochs=$(sed -n 's/.*"epochs": \([0-9]*\).*/\1/p' "$folder/report" | tail -1)
  if grep -qx 'exit 0' "$folder/output" && [ "${epochs:-0}" -gt $((most_layouts + 10)) ]; then
    echo "$1 $2: ${epochs} layouts"
  else
    echo "FAILED: $1 $2: ${epochs:-no} layouts; $(tail -n 2 "$folder/output" "$folder/ours/errors" "$folder/report")"
    failures=$((failures + 1))
  fi
}

forgets epoch_sleepers.c '-O2 -pthread'
forgets epoch_many_sleepers.c '-O2 -pthread' 5000
given_up=$(sed -n 's/.*"event": "exit".*"given_up": \([0-9]*\).*/\1/p' "$work/epoch_many_sleepers/report")
[ "$given_up" = 0 ] || { echo "FAILED: epoch_many_sleepers.c: ${given_up:-unknown} epochs were given up"; failures=$((failures + 1)); }
forgets epoch_long_jumps.c -O0
forgets epoch_long_jumps.c -O2
forgets epoch_kept_places.c -O0
forgets epoch_kept_places.c -O2
forgets epoch_own_stack.c -O0
forgets epoch_own_stack.c -O2
forgets epoch_own_stack.c '-O2 -flto'
[ $failures = 0 ]
