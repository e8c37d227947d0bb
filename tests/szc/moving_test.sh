#!/bin/bash
# SPDX-License-Identifier: MIT
# moving_test.sh SOURCE BUILD: a function that is active moves, even a loop that calls nothing, and calls between moved
# functions are direct.
set -u
. "$1/tests/lib.sh"
cd "$work" || exit 1
field() { sed -n "s/.*\"event\": \"exit\".*\"$1\": \([0-9]*\).*/\1/p" report; }

for level in -O0 -O2; do
  "$szc" $level -w -o program "$source_directory/tests/programs/moving.c" || exit 1
  read -r places _ direct _ < <(STABILIZER_OPTIONS=strict=1:rerandomize=once ./program)
  [ "$places" -le 2 ] || fail "$level: one layout, and the loop was at $places places"
  [ "$direct" -eq 50 ] || fail "$level: one layout: $direct of 50 calls are direct"
  for seed in 1 2 3; do
    rm -f report
    read -r places _ direct _ < <(STABILIZER_OPTIONS=strict=1:seed=$seed:rerandomize=repeated:budget=off:period=10ms:report=report ./program)
    epochs=$(field epochs)
    echo "$level seed $seed: $epochs layouts, $places places, $direct of 50 calls direct, $(field frames_moved) addresses moved"
    [ "$epochs" -ge 20 ] || fail "$level: only $epochs layouts"
    # Three samples fall into each layout of the loop; two layouts may share a page.
    [ "$places" -ge 10 ] || fail "$level: the loop was at $places places in $epochs layouts"
    [ "$direct" -eq 50 ] || fail "$level: $direct of 50 calls are direct"
    [ "$(field given_up)" -eq 0 ] || fail "$level: epochs were given up"
  done
done

"$szc" -O2 -w -pthread -o program "$source_directory/tests/programs/leftovers.c" || exit 1
for seed in 1 2 3; do
  rm -f report
  output=$(STABILIZER_OPTIONS=strict=1:seed=$seed:rerandomize=repeated:budget=off:period=1ms:report=report ./program)
  echo "leftovers, seed $seed: $(field epochs) layouts, $(field layouts_kept) kept"
  [ "$output" = "done 1" ] || fail "leftovers: wrote $output"
  # One timer tick is at most 10 ms; there are 64 layouts.
  [ "$(field epochs)" -ge 65 ] || fail "leftovers: only $(field epochs) layouts"
  [ "$(field given_up)" -eq 0 ] || fail "leftovers: epochs were given up"
done

# A stack that can't be walked, below memory that another thread changes while epochs read it.
"$szc" -O2 -w -pthread -o program "$source_directory/tests/programs/epoch_lost_walks.c" || exit 1
for seed in 1 2 3; do
  rm -f report
  output=$(HAZARD_MS=1000 STABILIZER_OPTIONS=strict=1:seed=$seed:budget=off:period=1ms:report=report ./program) || fail "lost walks end with $?"
  echo "lost walks, seed $seed: $(field epochs) layouts"
  [ "$output" = "read no more than there was" ] || fail "lost walks: wrote $output"
  [ "$(field epochs)" -ge 3 ] || fail "lost walks: only $(field epochs) layouts"
done

# A thousand threads that sleep: no epoch is given up, old layouts are forgotten, and a budget makes the period longer.
"$szc" -O2 -w -pthread -o program "$source_directory/bench/sleepers.c" || exit 1
for budget in off 1%; do
  rm -f report
  STABILIZER_OPTIONS=strict=1:seed=1:period=1ms:budget=$budget:report=report ./program 1000 3000 || fail "1000 sleepers end with $?"
  echo "1000 sleepers, budget $budget: $(field epochs) layouts every $(field achieved_period_ns) ns, $(field layouts_kept) kept"
  [ "$(field given_up)" -eq 0 ] || fail "1000 sleepers: epochs were given up"
  [ "$(field period_ns)" -eq 1000000 ] || fail "the report has a period of $(field period_ns) ns"
  case $budget in
    off) often=$(field epochs) ;;
    *) [ "$(field epochs)" -lt "$often" ] || fail "1000 sleepers: a budget, and $(field epochs) layouts instead of $often" ;;
  esac
done
[ "$often" -ge 65 ] || fail "1000 sleepers: only $often layouts"
finish
