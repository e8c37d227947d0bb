#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A short form of bench/soundness: verdicts are as seldom wrong as reports say, also on events that take turns, and
# 'stabctl analyze' says of the same data what the simulated functions say; beside a control, no verdict contradicts it;
# the interval of the cost of random layouts has the truth as often as it says.
set -euo pipefail
. "$1/tests/lib.sh"
"$build_directory/bench/soundness" --experiments 60 --commits 100
# The campaign through the command goes on where it was stopped, and makes the page's table.
cp "$1/doc/statistics.md" "$work/page"
campaign=("$build_directory/bench/soundness" --command "$build_directory/bin/stabctl" --results "$work/results")
"${campaign[@]}" --experiments 2 --only "two levels, 5 blocks"
"${campaign[@]}" --experiments 4 --only "two levels, 5 blocks"
[[ $(awk -F '\t' '{ print $2 }' "$work/results" | paste -sd' ') == "2 4" ]]
"${campaign[@]}" --experiments 0 --table "$work/page"
grep -c '^| two levels, 5 blocks, interaction 2 % | 4 |' "$work/page"
# The other lines keep their rows.
[[ $(grep -cvxFf "$1/doc/statistics.md" "$work/page") == 1 ]]
"$build_directory/bench/soundness" --through "$build_directory/bin/stabctl" --experiments 3
"$build_directory/bench/turns_soundness" "$build_directory/bin/stabctl" 150
# 60 experiments of each plan: 8 wrong verdicts are too many, and so are 21 in all 240.
"$build_directory/bench/control_soundness" "$build_directory/bin/stabctl" 12 --short
"$build_directory/bench/cost_soundness" "$build_directory/bin/stabctl" 30
