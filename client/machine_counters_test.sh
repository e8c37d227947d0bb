#!/bin/bash
# SPDX-License-Identifier: MIT
# machine_counters_test.sh SOURCE BUILD: stabctl counters, on this machine.
set -u
. "$1/tests/lib.sh"
expect() { [[ $2 == *"$3"* ]] || fail "$1: no '$3' in: $2"; }

[[ -e /proc/sys/kernel/perf_event_paranoid ]] || { echo "skipped: this kernel shows no perf events"; exit 0; }
out=$("$stabctl" counters) || fail "counters ends with $?"
expect counters "$out" "task-clock"
expect counters "$out" "cycles"
expect counters "$out" "This CPU has"
[[ $out != *PERF_COUNT_* ]] || fail "the overview has names that nobody writes: $out"

out=$("$stabctl" counters task-clock) || fail "a pattern ends with $?"
expect "a pattern" "$out" "task-clock  (another name of PERF_COUNT_SW_TASK_CLOCK)"
[[ $out != *cycles* ]] || fail "a pattern finds more: $out"
expect "a pattern with *" "$("$stabctl" counters 'l1-d*miss*')" "l1-dcache-load-misses"

json=$("$stabctl" counters --json) || fail "--json ends with $?"
expect --json "$json" '"hardware_at_once"'
expect --json "$json" '"name": "task-clock"'
# What cannot be counted has a reason, and nothing else has one.
expect --json "$("$stabctl" counters cs --json)" '"status"'

out=$("$stabctl" counters cycels 2>&1) && fail "a name that is none ends with 0"
expect "a name that is none" "$out" "did you mean 'cycles'?"
finish
