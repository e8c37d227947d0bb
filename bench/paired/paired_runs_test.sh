#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# paired_runs from outside: real programs, wrong output, failures, and what it writes.
set -euo pipefail
. "$1/tests/lib.sh"
tool=$build_directory/bench/paired_runs
fail() { echo "FAILED: $*" >&2; cat "$work"/out "$work"/err >&2 || true; exit 1; }

cat >"$work/shell" <<'SH'
#!/bin/sh
# Says what it was given; burns a little CPU time so that ratios exist.
i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done
[ -z "${LOG-}" ] || echo "$STABILIZER_OPTIONS" >>"$LOG"
cat
echo "$1"
SH
chmod +x "$work/shell"
echo input >"$work/input"

describe() { # describe WORD-OF-THE-SECOND-VARIANT
  printf 'program\tsmall\nin\t%s\nstdin\t%s\n' "$work" "$work/input"
  printf 'arm\tplain\t\t./shell\tsame\narm\tplain\t\t./shell\t%s\n' "$1"
  printf 'arm\ton\tcode=1:seed={seed}\t/usr/bin/env\tLOG=%s\t./shell\tsame\n' "$work/log"
  printf 'compare\ton\tplain\n'
}

describe same >"$work/good"
"$tool" --pairs 6 --quiet --json "$work/json" "$work/good" >"$work/out" 2>"$work/err" || fail "equal outputs are no problem"
grep -q '^small  *on/plain  *[0-9.]* \[[0-9.]*, [0-9.]*\]' "$work/out" || fail "no ratio with an interval"
[ "$(grep -c '"round"' "$work/json")" -eq 12 ] || fail "the JSON does not have the 12 runs"
# One warm-up and six rounds, each with a seed of its own.
[ "$(sort -u "$work/log" | grep -c '^code=1:seed=[0-9]*$')" -eq 7 ] || fail "seeds are not fresh for each run"
rm "$work/log"
"$tool" --pairs 6 --quiet "$work/good" >"$work/out" 2>"$work/err"
cp "$work/log" "$work/log1"
rm "$work/log"
"$tool" --pairs 6 --quiet "$work/good" >"$work/out" 2>"$work/err"
cmp -s "$work/log" "$work/log1" || fail "the same seed draws other numbers"

describe other >"$work/wrong"
status=0
"$tool" --pairs 2 --quiet "$work/wrong" >"$work/out" 2>"$work/err" || status=$?
[ $status -eq 1 ] || fail "wrong output must end with status 1, not $status"
grep -q 'FAILED: small plain .*output differs' "$work/err" || fail "it does not say which output is wrong"

printf 'program\tx\nin\t/\narm\ta\t\t/bin/false\n' >"$work/false"
! "$tool" --pairs 1 --quiet "$work/false" >"$work/out" 2>"$work/err" || fail "a failing program is a problem"
grep -q 'exit status 1' "$work/err" || fail "it does not say how the program failed"
status=0
"$tool" "$work/absent" >"$work/out" 2>"$work/err" || status=$?
[ $status -eq 2 ] || fail "a missing file must end with status 2"
