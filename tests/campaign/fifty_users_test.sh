#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The short form of the campaign of fifty users works: everybody is answered, no trial of the measured experiment is lost,
# and the figures are written. How good they are depends on the machine and is not looked at here.
set -euo pipefail
. "$1/tests/lib.sh"
[[ $EUID == 0 ]] || skip_all "only root can be fifty users"
setpriv --reuid 62000 --regid 62000 --clear-groups -- "$build_directory/bin/stabctl" --version >/dev/null 2>&1 ||
  skip_all "other users cannot reach $build_directory"

code=0
said=$("$build_directory/campaign/fifty_users" --quick "$work/figures" 2>&1) || code=$?
[[ $code == 0 || $code == 1 ]] || fail "exit code $code: $said"
for words in "'stabctl list' of root" "list of 45 users" ": nobody waits longer than 1 s for 'list'" "stabd's loop: " \
  "REACHED: each trial of the measured experiment is there once, and none failed"; do
  [[ $said == *"$words"* ]] || fail "it does not say '$words': $said"
done
[[ $said != *"got no answer or an error"* ]] || fail "$said"
[[ $(head -1 "$work/figures/waits.csv") == asked_ns,uid,verb,took_ns,refused ]] || fail "waits.csv has other columns"
[[ $(head -1 "$work/figures/trials.csv") == block,attacked,started_ns,cpu_ns ]] || fail "trials.csv has other columns"
[[ $(wc -l <"$work/figures/waits.csv") -gt 100 ]] || fail "hardly anybody asked"

# It says what is wrong with its words.
code=0
said=$("$build_directory/campaign/fifty_users" --pairs none 2>&1) || code=$?
[[ $code == 2 && $said == *"--pairs needs a number"* ]] || fail "exit code $code: $said"
