#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The short form of the campaign of fifty users works: everybody is answered, no trial of the measured experiment is lost,
# and the figures are written. How good they are depends on the machine and is not looked at here.
set -euo pipefail
# shellcheck source=tests/skips.sh
. "$1/tests/skips.sh"
build=$2
fail() { echo "FAILED: $*"; exit 1; }
[[ $EUID == 0 ]] || skip_all "only root can be fifty users"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
setpriv --reuid 62000 --regid 62000 --clear-groups -- "$build/bin/stabctl" --version >/dev/null 2>&1 ||
  skip_all "other users cannot reach $build"

code=0
said=$("$build/campaign/fifty_users" --quick "$folder/figures" 2>&1) || code=$?
[[ $code == 0 || $code == 1 ]] || fail "exit code $code: $said"
for words in "'stabctl list' of root" "list of 45 users" ": nobody waits longer than 1 s for 'list'" "stabd's loop: " \
  "REACHED: each trial of the measured experiment is there once, and none failed"; do
  [[ $said == *"$words"* ]] || fail "it does not say '$words': $said"
done
[[ $said != *"got no answer or an error"* ]] || fail "$said"
[[ $(head -1 "$folder/figures/waits.csv") == asked_ns,uid,verb,took_ns,refused ]] || fail "waits.csv has other columns"
[[ $(head -1 "$folder/figures/trials.csv") == block,attacked,started_ns,cpu_ns ]] || fail "trials.csv has other columns"
[[ $(wc -l <"$folder/figures/waits.csv") -gt 100 ]] || fail "hardly anybody asked"

# It says what is wrong with its words.
code=0
said=$("$build/campaign/fifty_users" --pairs none 2>&1) || code=$?
[[ $code == 2 && $said == *"--pairs needs a number"* ]] || fail "exit code $code: $said"
