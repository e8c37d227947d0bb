#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An experiment on three nodes of an emulated cluster. In the middle of blocks a node dies, the slurmd
# of another one stops, and the controller is restarted. Every trial counts exactly once, every block
# is on one node, and each node has as many blocks as the others.
set -euo pipefail
. "$1/tests/lib.sh"
lab=$1/tests/cluster/lab
chmod 755 "$work"  # users of the laboratory read its settings
folder=$work/lab
at_end() {
  [[ $failures == 0 ]] || tail -n 60 "$work/log" >&2
  "$lab" stop "$folder" 2>/dev/null
}

code=0
"$lab" start "$folder" 3 || code=$?
[[ $code != 77 ]] || skip_all "there is no laboratory here"
[[ $code == 0 ]] || fail "the laboratory does not start"
in_lab() { timeout 60 "$lab" run "$folder" "$@"; }
shared=$folder/shared state=$folder/state
mkdir "$state"
cp "$build_directory/bin/stabd" "$folder/stabd"
ctl() { in_lab "$stabctl" --socket "$folder/socket" "$@"; }
sql() { sqlite3 "file:$state/stabd.db?mode=ro" "$1"; }

# until_true WHAT COMMAND...: waits until a command succeeds.
until_true() {
  local what=$1 tries
  shift
  for ((tries = 0; tries < 1200; ++tries)); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.1
  done
  fail "not within two minutes: $what"
}
equals() { [[ $("${@:2}") == "$1" ]]; }
field() { sql "SELECT $2 FROM experiment WHERE id = $1"; }
no_job() { [[ -z $(in_lab squeue --noheader) ]]; }

"$lab" run "$folder" "$folder/stabd" --state "$state" --socket "$folder/socket" --socket-mode 0666 \
  --cache "$folder/cache" --node-silence-ms 12000 --node-wait-ms 300000 >>"$work/log" 2>&1 &
until_true "stabd serves" test -S "$folder/socket"

# Two factors with two levels, and 30 blocks: ten for each node, and one to warm it up. A trial on
# the node that fails waits there until it does.
cat >"$shared/several.toml" <<END
[experiment]
name = "several"
[defaults]
repetitions = 10
warmup = 1
[[benchmark]]
name = "b"
build = "cp /bin/sh \${OUT} && date +%N >>\${OUT}"
sources = ["empty"]
run = ["\${OUT}", "-c", "echo \$SLURMD_NODENAME; while [ -e /tmp/waits ]; do touch /tmp/began; sleep 0.05; done; sleep 0.1", "\${X}\${Y}"]
[factor.x]
levels = { a = { X = "1" }, b = { X = "2" } }
[factor.y]
levels = { c = { Y = "1" }, d = { Y = "2" } }
[machines]
engine = "slurm"
nodes = 3
END
touch "$shared/empty"
printf '[experiment]\nname = "alone"\n[[benchmark]]\nname = "b"\nrun = ["/bin/true"]\n' >"$shared/alone.toml"
checked=$("$stabctl" check "$shared/several.toml")
for words in "3 nodes of a Slurm cluster" "2 comparisons on these 3 nodes are corrected together, and each error term has 27 degrees of freedom" \
  "2 comparisons on nodes like these are corrected together, and each error term has 2 degrees of freedom"; do
  [[ $checked == *"$words"* ]] || fail "check lacks '$words': $checked"
done
[[ $(in_lab "$stabctl" check "$shared/several.toml") == *"  n1: IDLE"*"  n3: IDLE"* ]] || fail "check does not show the nodes' states"
[[ $(in_lab "$stabctl" check --machines n1,n9 "$shared/alone.toml") == *"  n9: not a node of the cluster's default partition"* ]] || fail "check does not know n9"
id=$(ctl submit "$shared/several.toml" | grep -oE '[0-9]+' | head -n 1)
blocks_on() { [[ $(sql "SELECT count(DISTINCT block) FROM trial WHERE experiment = $id AND node = '$1' AND warmup = 0") -ge $2 ]]; }
for node in n1 n2 n3; do until_true "$node measures" blocks_on "$node" 1; done
shown=$(ctl status "$id" --json | grep '"activity"')
for node in n1 n2 n3; do
  [[ $shown == *[\"\ ]"$node: "* ]] || fail "status does not show $node: $shown"
done

# In the middle of their blocks, n2 dies and slurmd of n3 stops, and the controller is away for a while.
for node in n2 n3; do
  "$lab" on "$folder" "$node" touch /tmp/waits
  until_true "a trial waits on $node" "$lab" on "$folder" "$node" test -e /tmp/began
done
frozen=$(in_lab pgrep -f '^slurmd -D -N n3$')
in_lab kill -STOP $frozen
in_lab kill -KILL $("$lab" pids "$folder" n2)
in_lab kill -KILL $("$lab" pids "$folder" slurmctld)
"$lab" again "$folder" slurmctld
# n1 goes on meanwhile, to its end.
until_true "n1 goes on" blocks_on n1 10
lost() { sql "SELECT text FROM event WHERE experiment = $id AND kind = 'lost'"; }
has_lost() { [[ $(lost) == *"node $1 "* ]]; }
until_true "the step on n2 is lost" has_lost n2
"$lab" again "$folder" n2
until_true "n2 is back" "$lab" on "$folder" n2 true
in_lab kill -CONT $frozen
for node in n2 n3; do "$lab" on "$folder" "$node" rm -f /tmp/waits; done
until_true "the experiment is done" equals "done" field "$id" state
until_true "the allocations are freed" no_job

# Each build makes another program, so one node has built it for all.
[[ $(sql "SELECT count(*) FROM event WHERE experiment = $id AND kind = 'machine' AND text LIKE 'node n% got the program of ''b'' from node n%'") == 2 ]] ||
  fail "the program did not travel: $(sql "SELECT kind, text FROM event WHERE experiment = $id")"
trials() { sql "SELECT position, attempt, block, node, last, status, reason FROM trial WHERE experiment = $id ORDER BY position, attempt"; }
# 33 blocks of four trials.
[[ $(sql "SELECT count(*), count(DISTINCT position) FROM trial WHERE experiment = $id AND last = 1 AND status = 'ok'") == "132|132" ]] ||
  fail "a trial is missing or counts twice: $(trials)"
[[ $(sql "SELECT count(*) FROM trial WHERE experiment = $id AND status <> 'ok'") == 0 ]] || fail "a trial has failed: $(trials)"
[[ $(sql "SELECT count(*) FROM (SELECT 1 FROM trial WHERE experiment = $id AND last = 1 GROUP BY warmup, block HAVING count(DISTINCT node) <> 1)") == 0 ]] ||
  fail "a block ran on several nodes: $(trials)"
[[ $(sql "SELECT node, count(DISTINCT block) FROM trial WHERE experiment = $id AND last = 1 AND warmup = 0 GROUP BY node" | xargs) == "n1|10 n2|10 n3|10" ]] ||
  fail "the nodes have other numbers of blocks: $(trials)"
# The nodes worked at the same time: their blocks overlap.
[[ $(sql "SELECT count(*) FROM trial a, trial b WHERE a.experiment = $id AND b.experiment = $id AND a.node < b.node AND a.started_ns < b.started_ns + b.wall_ns AND b.started_ns < a.started_ns + a.wall_ns") -gt 0 ]] ||
  fail "no two nodes worked at the same time"
# JobRequeue does not run a job of stabd again.
[[ $(in_lab scontrol show config) =~ JobRequeue\ *=\ 1 ]] || fail "the laboratory requeues no jobs"
in_lab scontrol --oneliner show job >"$work/jobs"
grep -q "JobName=stabd-" "$work/jobs" || fail "Slurm has forgotten the jobs: $(cat "$work/jobs")"
! grep -E "Restarts=[1-9]" "$work/jobs" || fail "a job was requeued"
# The node that did not fail has lost nothing: it ran each of its trials once.
[[ $(sql "SELECT count(*) FROM trial WHERE experiment = $id AND node = 'n1'") == 44 ]] || fail "n1 ran trials again: $(lost)"
[[ $(sql "SELECT count(*) FROM trial WHERE experiment = $id AND node = 'n2' AND last = 0") -lt 4 ]] || fail "n2 repeated more than a block: $(lost)"
ctl export "$id" --format csv | head -n 1 | tr -d '\r' | grep -qE ',node(,|$)' || fail "the export has no nodes"
# The report has the answer for these nodes, and for nodes like these, and the change on each.
ctl report "$id" --full >"$work/report"
for words in "on these 3 nodes," "on nodes like these 3,"; do
  tr -s ' \n' ' ' <"$work/report" | grep -qF "$words" || fail "the report lacks '$words': $(cat "$work/report")"
done
ctl report "$id" --json >"$work/report.json"
grep -q '"machine_changes": \[$' "$work/report.json" || fail "the report has no changes of machines: $(head -c 3000 "$work/report.json")"
ctl report "$id" --format html >"$work/page.html"
grep -qF 'Trials of each cell of n1' "$work/page.html" || fail "the page does not tell nodes apart"
# The history of the benchmark has means of all nodes together.
ctl history b --json >"$work/history" 2>&1 || fail "no history: $(cat "$work/history")"
[[ $(grep -c '"n": 30' "$work/history") == 4 ]] && grep -q '"machine": "n1, n2, n3: ' "$work/history" ||
  fail "the history does not have the means of all nodes: $(cat "$work/history")"
# A plan without [machines] runs on the nodes that --machines names.
ctl submit --wait --machines n3 "$shared/alone.toml" >/dev/null 2>&1 || fail "the plan without [machines] fails"
[[ $(sql "SELECT DISTINCT node FROM trial WHERE experiment = (SELECT max(id) FROM experiment)") == n3 ]] || fail "it ran elsewhere"
# The nodes have the same hardware, so they are a pool.
ctl history b --json >"$work/history" 2>&1 || fail "no history: $(cat "$work/history")"
grep -qF "other nodes with the same hardware: n1, n2, n3 ('--pool' includes them)" "$work/history" || fail "the history lacks --pool: $(cat "$work/history")"
ctl history b --pool --json >"$work/history" 2>&1 || fail "no history of the pool: $(cat "$work/history")"
[[ $(grep -c '"experiment": ' "$work/history") == 2 ]] && grep -q "different nodes than before: n3" "$work/history" ||
  fail "the pool is not in one history: $(cat "$work/history")"

# A rule ends an experiment after as many blocks on each node, and the report tells nodes apart
# although there is a control. n2 is slow, so the answer leaves it out, and it is drained.
"$lab" on "$folder" n2 touch /tmp/slow
cat >"$shared/early.toml" <<'END'
[experiment]
name = "early"
[[benchmark]]
name = "b"
run = ["/bin/sh", "-c", "if [ -e /tmp/slow ]; then sleep 0.1; fi; sleep $0", "${X}"]
[factor.x]
levels = { a = { X = "0.05" }, again = { X = "0.050" }, b = { X = "0.15" } }
[design]
kind = "one-way"
stop = { rule = "sequential", min = 5, max = 30, looks = 6 }
[analysis]
control = "again"
[machines]
engine = "slurm"
nodes = ["n1", "n2", "n3"]
drain = true
END
early=$(ctl submit "$shared/early.toml" | grep -oE '[0-9]+' | head -n 1)
until_true "the rule ends the experiment" equals "done" field "$early" state
# A busy machine can need more than the first look.
[[ $(field "$early" reason) =~ ^"stopped after "(15|30|45|60|75)" of 90 blocks: the comparison is decided"$ ]] ||
  fail "the rule did not end it early: $(field "$early" reason)"
blocks=$((BASH_REMATCH[1] / 3)) trials=${BASH_REMATCH[1]}
[[ $(sql "SELECT node, count(DISTINCT block), count(*) FROM trial WHERE experiment = $early GROUP BY node" | xargs) == "n1|$blocks|$trials n2|$blocks|$trials n3|$blocks|$trials" ]] ||
  fail "the nodes have other numbers of blocks: $(sql "SELECT node, block, count(*) FROM trial WHERE experiment = $early GROUP BY node, block")"
ctl report "$early" --json >"$work/early.json"
grep -q '"machine_changes": \[$' "$work/early.json" || fail "the report of an early end does not tell nodes apart"
grep -A 2 '"slow_machines"' "$work/early.json" | grep -q '"machine": "n2"' || fail "the report does not name the slow node: $(grep -A 3 slow_machines "$work/early.json")"
[[ $(sql "SELECT text FROM event WHERE experiment = $early AND kind = 'machine'") == *"node n2 is out of order: everything takes "* ]] || fail "stabd does not note the slow node"
# The store says how slow each node was, and later reports use that.
[[ $(sql "SELECT value ->> 0, value ->> 3 FROM experiment, json_each(node_list) WHERE experiment.id = $early ORDER BY 1" | xargs) =~ ^"n1|1.0 n2|"([0-9.]+)" n3|1.0"$ ]] ||
  fail "the nodes are not judged: $(field "$early" node_list)"
is_drained() { [[ $(in_lab scontrol --oneliner show node n2) == *"DRAIN"*"Reason=stabd: "*" times as slow"* ]]; }
until_true "n2 is drained" is_drained
"$lab" on "$folder" n2 rm /tmp/slow
in_lab scontrol update nodename=n2 state=resume
for wrong in 0 65 n1,n1 "n1, n2" -1 n1,; do
  if "$stabctl" check --machines "$wrong" "$shared/alone.toml" >/dev/null 2>"$work/err"; then fail "--machines '$wrong' is accepted"; fi
  grep -qF "give the number of nodes, from 1 to 64" "$work/err" || fail "--machines '$wrong': $(cat "$work/err")"
done
if "$stabctl" check --machines 2 "$shared/several.toml" 2>"$work/err"; then fail "--machines replaces a table"; fi
grep -qF "has a table [machines]: leave out --machines" "$work/err" || fail "$(cat "$work/err")"
# 'ab' measures there, too.
in_lab env HOME="$shared" "$stabctl" ab --machines 3 --budget 20s --no-heap --folder "$shared/ab" --json \
  -- "sleep 0.05" "sleep 0.15" >"$work/ab.json" 2>"$work/err" || fail "ab: $(cat "$work/err")"
grep -qF '"verdict": "slower"' "$work/ab.json" || fail "ab does not decide: $(head -c 2000 "$work/ab.json")"
grep -q '"machine_changes": \[$' "$work/ab.json" || fail "ab does not tell nodes apart: $(head -c 2000 "$work/ab.json")"
# The nodes that were used, with their states.
listed=$(in_lab "$stabctl" machines --folder "$state")
for node in n1 n2 n3; do
  grep -qE "^$node: .*Linux" <<<"$listed" || fail "machines lacks $node: $listed"
done
[[ $(grep -c "no calibration" <<<"$listed") == 3 && $(grep -cE '^    Slurm: (IDLE|ALLOCATED|MIXED|COMPLETING)' <<<"$listed") == 3 ]] ||
  fail "machines has other facts: $listed"
[[ $(grep -c '^    stabd ' <<<"$listed") == 3 ]] || fail "machines does not name the versions: $listed"
# 'analyze' says the same about the exported trials.
ctl export "$id" --output "$shared/trials.csv"
answer=$("$stabctl" analyze "$shared/trials.csv" --response wall_ns --factors x,y --block block --machine node --log 2>&1)
[[ $answer == *"on these 3 nodes,"*"on nodes like these 3,"* ]] || fail "analyze does not know the nodes: $answer"
finish
