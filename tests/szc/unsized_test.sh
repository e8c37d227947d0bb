#!/bin/bash
# SPDX-License-Identifier: MIT
# unsized_test.sh SOURCE BUILD: functions whose symbols have no sizes move where their code shows the sizes; the others stay,
# --stab-explain names them, and all run right.
set -u
. "$1/tests/lib.sh"
. "$source_directory/tests/programs/build.sh"
options=code=1:strict=1:rerandomize=repeated:period=2ms:poison=1:budget=off

for flags in -O0 -O2 "-O2 -fno-pie -no-pie"; do
  build "$work" "$programs/epoch_unsized.cpp" "$szc" "$szc" "$flags" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  "$szc" --stab-explain "$work/program" >"$work/explained"
  moving=0
  for name in by_loop calls_back counts_down lets_pass goes_on aligns is_run_into; do
    if grep -q "^  moves .* $name: " "$work/explained"; then moving=$((moving + 1)); else fail "$flags: $name stays"; fi
  done
  for name in runs_on is_entered enters holds_data holds_bytes; do
    grep -q "^  pinned .* $name: its size is unknown: no symbol states its size" "$work/explained" || fail "$flags: $name is not named as staying"
  done
  ! grep 'all layouts are kept' "$work/explained" || fail "$flags: taken for a switch of stacks"
  for seed in 1 2 3; do
    rm -f "$work/report"
    HAZARD_MS=300 run "$work" "$options:seed=$seed:report=$work/report" >"$work/result"
    grep -qx 'exit 0' "$work/result" || fail "$flags, seed $seed: $(cat "$work/result" "$work/errors")"
    ! grep -q layouts_stay_for "$work/report" || fail "$flags, seed $seed: $(tail -n 1 "$work/report")"
    # goes_on (no number) and the one that is run into from where it was are moving, too.
    grep -qx 'elsewhere: 0 1 2 3 5 9' "$work/errors" || fail "$flags, seed $seed: $(cat "$work/errors")"
  done
  echo "$flags: $moving of 12 functions without sizes move"
done
exit $((failures > 0))
finish
