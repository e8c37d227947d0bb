#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cluster_faults_test.sh SOURCE BUILD: a sample of the faults that tests/campaign/cluster_faults injects.
set -u
. "$1/tests/lib.sh"
"$1/tests/cluster/lab" start "$work/lab" 1 || { [[ $? == 77 ]] && skip_all "there is no laboratory here"; }
"$1/tests/cluster/lab" stop "$work/lab"
BUILD=$build_directory timeout 900 "$1/tests/campaign/cluster_faults" --experiments 1 --faults 3 "$work/results" || fail "see above"
[[ $(cut -f 2 "$work/results") == right ]] || fail "$(cat "$work/results")"
# A second call repeats no experiment.
before=$(cat "$work/results")
BUILD=$build_directory "$1/tests/campaign/cluster_faults" --experiments 1 "$work/results" >"$work/said" || fail "$(cat "$work/said")"
[[ $(cat "$work/results") == "$before" && $(tail -n 1 "$work/said") == "1 experiments, "[123]" faults, "[0123]" hits, "*": 0 wrong" ]] ||
  fail "$(cat "$work/said")"
[[ $(grep -cE '^  [a-z-]+: [0-3] of [0-3] hit$' "$work/said") == 16 ]] || fail "not each kind is listed: $(cat "$work/said")"
finish
