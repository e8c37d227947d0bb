#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# corpora_test.sh SOURCE BUILD: every input that the fuzzers of tests/campaign/nightly have kept is run again, and together
# they are small.
set -u
. "$1/tests/lib.sh"
tar -xJf "$1/tests/campaign/corpora.tar.xz" -C "$work" || fail "the archive cannot be read"
bytes=$(find "$work" -type f -printf '%s\n' | awk '{ all += $1 } END { print all + 0 }')
[ "$bytes" -gt 0 ] && [ "$bytes" -lt 5000000 ] || fail "the inputs have $bytes bytes"
ran=0
built=("$2"/tests/*_fuzz)
for inputs in "$work"/*/; do
  name=$(basename "$inputs")
  fuzzer=$2/tests/$name
  [ -x "$fuzzer" ] || {
    # A fuzzer that got another name would leave its inputs here.
    ((ran == 0)) && [ ! -e "${built[0]}" ] || fail "there is no fuzzer $name"
    skipped "$name: its fuzzer is not built"
    continue
  }
  "$fuzzer" -runs=0 -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$work/" "$inputs" >"$work/log" 2>&1 ||
    { tail -n 30 "$work/log"; fail "$name fails at an input"; }
  ran=$((ran + 1))
done
echo "$ran fuzzers ran $(find "$work" -mindepth 2 -type f | wc -l) inputs of $bytes bytes"
finish
