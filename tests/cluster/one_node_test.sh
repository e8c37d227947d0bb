#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Experiments on one node of an emulated cluster, from their plan to their report, with the failures
# of the cluster between them. No failure of the cluster becomes a failure of a program.
set -euo pipefail
. "$1/tests/lib.sh"
lab=$1/tests/cluster/lab
chmod 755 "$work"  # users of the laboratory read its settings
folder=$work/lab
at_end() {
  [[ $failures == 0 ]] || tail -n 40 "$work/log" >&2
  # nsenter stops with the stabd that it started, and would not see its end.
  kill -CONT $(jobs -p) 2>/dev/null || true
  "$lab" stop "$folder" 2>/dev/null
}

# Slurm runs our program before and after each job. The file of n2's settings is in n2's own /tmp.
quiet_node=$folder/usr/share/stabd/slurm/quiet-node
mkdir -p "$folder/usr/bin" "${quiet_node%/*}"
sed 's|^log=.*|log=/tmp/quiet-node.undo|' "$1/packaging/slurm/quiet-node" >"$quiet_node"
chmod 755 "$quiet_node"
ln -s "$stabctl" "$folder/usr/bin/stabctl"
printf 'Prolog=%s\nEpilog=%s\n' "$quiet_node" "$quiet_node" >"$folder/more.conf"
# A job in the second partition takes the node of a job in the first one.
cat >>"$folder/more.conf" <<'END'
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
PartitionName=urgent Nodes=ALL PriorityTier=10 MaxTime=60 State=UP
END

code=0
"$lab" start "$folder" 2 || code=$?
[[ $code != 77 ]] || skip_all "there is no laboratory here"
[[ $code == 0 ]] || fail "the laboratory does not start"
in_lab() { timeout 60 "$lab" run "$folder" "$@"; }
shared=$folder/shared state=$folder/state
mkdir "$state"
cp "$build_directory/bin/stabd" "$folder/stabd"

silence=12  # seconds without a sign of life; a busy machine may stall for some
start_daemon() {
  "$lab" run "$folder" "$folder/stabd" --state "$state" --socket "$folder/socket" --socket-mode 0666 \
    --cache "$folder/cache" --node-silence-ms ${silence}000 --node-wait-ms 60000 >>"$work/log" 2>&1 &
  until_true "stabd serves" test -S "$folder/socket"
}
daemon() { in_lab pgrep -o -f "^$folder/stabd --state $state"; }
ctl() { in_lab "$stabctl" --socket "$folder/socket" "$@"; }

# until_true WHAT COMMAND...: waits until a command succeeds.
until_true() {
  local what=$1 tries
  shift
  for ((tries = 0; tries < 600; ++tries)); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.1
  done
  fail "not within a minute: $what"
}
sql() { sqlite3 "file:$state/stabd.db?mode=ro" "$1"; }
equals() { [[ $("${@:2}") == "$1" ]]; }
field() { sql "SELECT $2 FROM experiment WHERE id = $1"; }
no_job() { [[ -z $(in_lab squeue --noheader) ]]; }
# A job that is completing waits for processes that wait for the controller.
has_job() { [[ -n $(in_lab squeue --noheader --states=pending,running) ]]; }
is_freed() { ! has_job; }
no_daemon() { ! daemon; }
# Nothing of stabd runs on a node, nor the program of a trial.
nothing_runs() { ! in_lab pgrep -f "^$folder/stabd --(on-node|worker)|^/var/tmp/stabd-[0-9]+/builds/[0-9a-f]+/out "; }

# plan NAME SHELL [MACHINES]: a plan whose trials run this in the shell.
plan() {
  cat >"$shared/$1.toml" <<END
[experiment]
name = "$1"
[defaults]
repetitions = 3
[[benchmark]]
name = "b"
build = "cp /bin/sh \${OUT}"
sources = ["empty"]
run = ["\${OUT}", "-c", "$2", "\${X}"]
[factor.x]
levels = { a = { X = "1" }, b = { X = "2" } }
[machines]
engine = "slurm"
${3-nodes = [\"n2\"]}
END
}
submit() { ctl submit "$shared/$1.toml" | grep -oE '[0-9]+' | head -n 1; }
# A trial that waits for the file go.
waiting="touch $shared/began; while [ ! -e $shared/go ]; do sleep 0.05; done"
forget() { rm -f "$shared/began" "$shared/go"; }
# Each trial was measured once, and none has failed.
expect_whole() {
  until_true "experiment $1 is done" equals "done" field "$1" state
  [[ $(sql "SELECT count(*), count(DISTINCT position) FROM trial WHERE experiment = $1 AND last = 1 AND status = 'ok'") == "6|6" ]] ||
    fail "experiment $1 has other trials: $(sql "SELECT position, attempt, last, status, reason FROM trial WHERE experiment = $1")"
  [[ $(sql "SELECT count(*) FROM trial WHERE experiment = $1 AND status <> 'ok'") == 0 ]] || fail "a trial of experiment $1 has failed"
  [[ $(sql "SELECT count(*) FROM (SELECT block FROM trial WHERE experiment = $1 AND last = 1 GROUP BY block HAVING count(DISTINCT node) <> 1)") == 0 ]] ||
    fail "a block of experiment $1 ran on several nodes"
}
# Slurm's number of the job in which the experiment's trials run.
job_of() { sql "SELECT text FROM event WHERE experiment = $1 AND kind = 'machine' AND text LIKE '%in Slurm''s job %' ORDER BY id DESC LIMIT 1" | sed 's/.* //'; }
lost() { sql "SELECT text FROM event WHERE experiment = $1 AND kind = 'lost'" | sed 's/:.*//' | sort -u | xargs; }

touch "$shared/empty"
start_daemon

# The cluster's settings, and what they do to measurements.
[[ $("$stabctl" doctor --machines 2>&1) == *"Slurm's settings are not known"* ]] || fail "doctor finds a cluster outside of the laboratory"
found=$(in_lab "$stabctl" doctor --machines)
for words in "This cluster is fair for measurements." "  2 nodes" "all have" "Slurm takes no samples while steps run" \
  "none on n1, n2, and a job's --core-spec is ignored" "mend: slurm.conf: ProctrackType=proctrack/cgroup"; do
  [[ $found == *"$words"* ]] || fail "doctor --machines lacks '$words': $found"
done
in_lab scontrol update nodename=n1 state=drain reason="disk is full"
[[ $(in_lab "$stabctl" doctor --machines --json) == *"n1 is "*"DRAIN (disk is full"* ]] || fail "doctor does not name a drained node"
in_lab scontrol update nodename=n1 state=resume

# A whole experiment on the node that its plan names.
plan whole "exit 0"
[[ $("$stabctl" check "$shared/whole.toml") == *"1 node of a Slurm cluster (n2)"* ]] || fail "check does not show the machines"
id=$(submit whole)
expect_whole "$id"
[[ $(sql "SELECT DISTINCT node FROM trial WHERE experiment = $id") == n2 ]] || fail "the trials do not have their node"
[[ $(sql "SELECT host FROM machine, experiment WHERE machine.id = machine AND experiment.id = $id") == n2 ]] || fail "the machine is not n2"
[[ $(ctl report "$id" --full) == *"n2: "* ]] || fail "the report does not name the node"
until_true "the allocation is freed" no_job

# The program has its user's rights, on the node as on the head.
cp /etc/group "$folder/group"
echo "laboratory:x:4711:daemon" >>"$folder/group"
in_lab mount --bind "$folder/group" /etc/group
plan rights "id -u > $shared/id; id -g >> $shared/id; cat $shared/of_group >> $shared/id; $waiting"
chmod 644 "$shared"/*
# In its user namespace, 'id' can't name the group, but its rights are there.
echo group >"$shared/of_group"
chown 0:4711 "$shared/of_group"
chmod 640 "$shared/of_group"
as_user=(setpriv --reuid 1 --regid 1 --init-groups)
refused=$(in_lab "${as_user[@]}" "$stabctl" --socket "$folder/socket" submit "$shared/rights.toml" 2>&1) && fail "root's stabd takes a plan of another user"
[[ $refused == *"only root and stabd's own user may run experiments on a cluster"* ]] || fail "it is refused with other words: $refused"
# A stabd of the user's own.
mkdir "$folder/own" && chown 1:1 "$folder/own"
"$lab" run "$folder" "${as_user[@]}" "$folder/stabd" --state "$folder/own" --socket "$folder/own/socket" \
  --cache "$folder/own/cache" --node-silence-ms ${silence}000 --node-wait-ms 60000 >>"$work/log" 2>&1 &
until_true "the user's stabd serves" test -S "$folder/own/socket"
in_lab "${as_user[@]}" "$stabctl" --socket "$folder/own/socket" submit --wait "$shared/rights.toml" >/dev/null 2>&1 &
experiment=$!
until_true "the user's trial begins" test -e "$shared/began"
# Other processes of the user can't open what the node's process has open.
[[ $(in_lab stat --format=%u "/proc/$(in_lab pgrep -f "^$folder/stabd --on-node")/environ") == 0 ]] || fail "the node's process is dumpable"
cpus_of() { in_lab sed -n 's/^Cpus_allowed_list:\s*//p' "/proc/$1/status"; }
[[ $(cpus_of "$(in_lab pgrep -f "^$folder/stabd --on-node")") == $(cpus_of self) ]] || fail "the step does not have all CPUs of its node"
touch "$shared/go"
wait "$experiment" || fail "the user's experiment fails"
forget
in_lab pkill -f "^$folder/stabd --state $folder/own" || fail "the user's stabd has ended"
[[ $(xargs <"$shared/id") == "1 1 group" ]] || fail "the program has other rights than its user: $(xargs <"$shared/id")"

# A plan asks for a quiet node. On n2, a folder of the test's own stands for the settings.
if [[ ! -d /sys/kernel/mm ]]; then
  echo "skipped: a kernel without /sys/kernel/mm has no such settings"
else
  knob=/sys/kernel/mm/ksm/run
  on_n2() { "$lab" on "$folder" n2 "$@"; }
  knob_is() { [[ $(on_n2 cat $knob) == "$1" ]]; }
  on_n2 sh -c "mount -t tmpfs none /sys/kernel/mm && mkdir /sys/kernel/mm/ksm && echo 1 >$knob" || fail "n2 gets no settings"
  [[ $(in_lab "$stabctl" doctor --machines) == *"a plan with machine.quiesce makes its nodes quiet"* ]] ||
    fail "doctor does not see the prolog"
  quiet='nodes = ["n2"]
[machine]
quiesce = "strict"
knobs = ["ksm"]'
  plan quiet "cat $knob >>$shared/seen" "$quiet"
  id=$(submit quiet)
  expect_whole "$id"
  [[ $(sort -u "$shared/seen") == 0 ]] || fail "the setting was not quiet: $(sort "$shared/seen" | uniq -c)"
  until_true "the allocation of a quiet node is freed" no_job
  until_true "the setting is back" knob_is 1
  [[ $(ctl report "$id" --full) == *"node n2 is "*" for measurements"* ]] || fail "the report does not say how quiet n2 is"
  # Other jobs change nothing, nor does a job that shares its node.
  wish="experiment 1, quiet node (1 CPUs: ksm): x"
  [[ $(in_lab srun -w n2 --exclusive cat $knob) == 1 ]] || fail "a job without a wish gets a quiet node"
  [[ $(in_lab srun -w n2 --comment="$wish" cat $knob) == 1 ]] || fail "a job that shares its node gets a quiet node"
  [[ $(in_lab srun -w n2 --comment=$'x\nNO '"$wish" cat $knob) == 1 ]] || fail "a comment of two lines makes a shared node quiet"
  [[ $(in_lab srun -w n2 --exclusive --comment="$wish" cat $knob) == 0 ]] || fail "a job with the wish gets no quiet node"
  until_true "the node is free" no_job
  until_true "the setting is back" knob_is 1
  # An epilog that did not run: the next job's prolog puts the setting back.
  on_n2 "$stabctl" quiet apply --log /tmp/quiet-node.undo --knobs ksm >/dev/null || fail "the setting cannot be changed"
  knob_is 0 || fail "the setting was not changed"
  [[ $(in_lab srun -w n2 cat $knob) == 1 ]] || fail "a setting that was left behind is not put back"
  # A setting that can't be changed.
  on_n2 mount -o remount,ro /sys/kernel/mm
  id=$(submit quiet)
  until_true "experiment $id fails" equals failed field "$id" state
  [[ $(field "$id" reason) == *"not quiet: node n2: ksm: $knob is 1, but its quiet value is 0"*quiet-node* ]] ||
    fail "it fails for another reason: $(field "$id" reason)"
  plan loud "exit 0" "${quiet/strict/best-effort}"
  id=$(submit loud)
  expect_whole "$id"
  [[ $(sql "SELECT text FROM event WHERE experiment = $id AND kind = 'loud'") == "node n2: ksm: $knob is 1"* ]] ||
    fail "the knob that is not quiet is not named"
  [[ $(ctl report "$id" --json) == *'"not_made_quiet": "node n2: ksm: '"$knob is 1"* ]] || fail "the report does not name the knob"
  on_n2 umount /sys/kernel/mm
fi

# A partition that does not exist.
plan partition "exit 0" 'partition = "nowhere"'
id=$(submit partition)
until_true "experiment $id fails" equals failed field "$id" state
[[ $(field "$id" reason) == "cannot-start: Slurm can't start a step: "*nowhere*"Change [machines]"* ]] || fail "it fails for another reason: $(field "$id" reason)"

# A node without stabd.
"$lab" on "$folder" n1 mount --bind /dev/null "$folder/stabd"
plan absent "exit 0" 'nodes = ["n1"]'
id=$(submit absent)
until_true "experiment $id fails" equals failed field "$id" state
[[ $(field "$id" reason) == "cannot-start: "*execve* ]] || fail "it fails for another reason: $(field "$id" reason)"

# cancel frees the allocation.
plan cancelled "$waiting"
id=$(submit cancelled)
until_true "a trial begins" test -e "$shared/began"
ctl cancel "$id" >/dev/null
until_true "the allocation of a cancelled experiment is freed" no_job
until_true "nothing runs after cancel" nothing_runs
forget

# Somebody cancels the job: the block runs again.
plan lost "$waiting"
id=$(submit lost)
until_true "a trial begins" test -e "$shared/began"
in_lab scancel --state=running --me
forget
until_true "a trial begins again" test -e "$shared/began"
touch "$shared/go"
expect_whole "$id"
[[ $(lost "$id") == cancelled ]] || fail "another loss than a cancelled job: $(lost "$id")"

# A job of another partition takes the node: the block runs again when that job has ended.
forget
id=$(submit lost)
until_true "a trial begins" test -e "$shared/began"
rm "$shared/began"
in_lab timeout 40 srun --partition=urgent --nodelist=n2 --exclusive --mem=0 true || fail "the other job does not get the node"
until_true "a trial begins after the other job" test -e "$shared/began"
touch "$shared/go"
expect_whole "$id"
[[ $(lost "$id") == preempted ]] || fail "another loss than a preempted job: $(lost "$id")"

# Slurm requeues no job of salloc, so the trial goes on.
forget
id=$(submit lost)
until_true "a trial begins" test -e "$shared/began"
rm "$shared/began"
job=$(job_of "$id")
[[ $job =~ ^[0-9]+$ ]] || fail "no event names the job: $job"
said=$(in_lab scontrol requeue "$job" 2>&1) && fail "Slurm requeues a job of salloc: $said"
shown=$(in_lab scontrol --oneliner show job "$job")
[[ $shown == *" JobState=RUNNING "* && $shown == *" Restarts=0 "* ]] || fail "after a requeue that Slurm refused ($said): $shown"
touch "$shared/go"
expect_whole "$id"
[[ -z $(lost "$id") ]] || fail "a requeue ends a step: $(lost "$id")"

# The node's process is stopped, and Slurm forgets it because its slurmstepd is killed. Nothing else is
# measured on the node until it has ended. If the process were stopped before slurmstepd ends, the kernel
# would send it SIGHUP then, as to each orphaned group with a stopped member. So its worker is stopped: the
# process waits some seconds for the worker's end when slurmstepd has closed its stream.
forget
id=$(submit lost)
until_true "a trial begins" test -e "$shared/began"
rm "$shared/began"
old=$(in_lab pgrep -f "^$folder/stabd --on-node")
job=$(job_of "$id")
worker=$(in_lab pgrep -f "^$folder/stabd --worker")
in_lab kill -STOP $worker
for pid in $("$lab" pids "$folder" n2 | tail -n +2); do in_lab kill -KILL "$pid"; done
in_lab kill -STOP "$old" || fail "the node's process has ended"
is_lost() { [[ -n $(lost "$id") ]]; }
finds_earlier() { [[ " $(lost "$id") " == *" old-step "* ]]; }
until_true "Slurm forgets the job" is_freed
until_true "the step is lost" is_lost
until_true "a later step finds the earlier one" finds_earlier
[[ $(sql "SELECT text FROM event WHERE experiment = $id AND kind = 'lost' AND text LIKE 'old-step%'") == *"an earlier step of stabd (job $job) still runs on node n2"* ]] ||
  fail "the earlier step is not named: $(sql "SELECT text FROM event WHERE experiment = $id AND kind = 'lost'")"
[[ ! -e $shared/began ]] || fail "a trial begins beside an earlier step"
in_lab kill -KILL "$old"
until_true "a trial begins after the earlier step" test -e "$shared/began"
touch "$shared/go"
expect_whole "$id"

# stabd is stopped, so the trial on the node ends by itself; stabd goes on later.
forget
id=$(submit lost)
until_true "a trial begins" test -e "$shared/began"
stopped=$(daemon)
in_lab kill -STOP "$stopped"
until_true "the node ends the trial of a stopped stabd" nothing_runs
forget
in_lab kill -CONT "$stopped"
until_true "a trial begins again" test -e "$shared/began"
touch "$shared/go"
expect_whole "$id"
[[ -n $(lost "$id") ]] || fail "no loss was noted"

# stabd is killed, so the trial ends, and the allocation is freed without it.
forget
id=$(submit lost)
until_true "a trial begins" test -e "$shared/began"
in_lab kill -KILL "$(daemon)"
until_true "the node ends the trial of a killed stabd" nothing_runs
until_true "the allocation of a killed stabd is freed" no_job
forget
start_daemon
until_true "a trial begins again" test -e "$shared/began"
# The controller is away while trials run, which does not matter, and when the next step starts.
in_lab kill -KILL $("$lab" pids "$folder" slurmctld)
touch "$shared/go"
expect_whole "$id"
[[ -z $(lost "$id") ]] || fail "the restart of stabd counts as a loss: $(lost "$id")"
id=$(submit whole)
until_true "the experiment waits for the controller" equals paused field "$id" state
[[ $(field "$id" reason) == controller-away:* ]] || fail "it waits for another reason: $(field "$id" reason)"
"$lab" again "$folder" slurmctld
expect_whole "$id"

# The controller is away while an experiment is cancelled, and stabd is stopped before it answers.
# The next stabd frees the allocation.
forget
id=$(submit lost)
until_true "a trial begins" test -e "$shared/began"
until_true "the controller saves the job" test "$folder/controller/job_state" -nt "$shared/began"
in_lab kill -KILL $("$lab" pids "$folder" slurmctld)
ctl cancel "$id" >/dev/null
in_lab kill "$(daemon)"
until_true "stabd ends" no_daemon
[[ $(field "$id" state) == cancelled ]] || fail "the experiment is not cancelled: $(field "$id" state)"
"$lab" again "$folder" slurmctld
until_true "the allocation is left" has_job
start_daemon
until_true "the next stabd frees the allocation" is_freed

# The controller is away when 'stabctl run' ends, so it says how to end the job that may be left.
forget
cp "$stabctl" "$folder/stabctl"
"$lab" run "$folder" env HOME="$folder" "$folder/stabctl" run --folder "$folder/run" "$shared/lost.toml" \
  >"$work/run.out" 2>"$work/run.err" &
run=$!
until_true "a trial of the run begins" test -e "$shared/began"
until_true "the controller saves the job of the run" test "$folder/controller/job_state" -nt "$shared/began"
in_lab kill -KILL $("$lab" pids "$folder" slurmctld)
touch "$shared/go"
wait "$run" || fail "the run fails: $(cat "$work/run.err")"
left=$(grep -oE 'scancel --name=stabd-[^ ;]+' "$work/run.err") ||
  fail "the run does not name its job: $(cat "$work/run.err")"
"$lab" again "$folder" slurmctld
until_true "the controller answers" in_lab squeue
in_lab $left
until_true "the command frees the allocation of the run" is_freed

# A step waits for the lock of its node. Meanwhile it gives signs of life, other processes of its user can't open what it
# has open, and a file that replaces the lock counts. If nobody waits for the step any more, it frees its allocation.
until_true "nothing runs on the nodes" nothing_runs
as_user_on_n2() { "$lab" on "$folder" n2 "${as_user[@]}" "$@"; }
on_node() {
  as_user_on_n2 env SLURMD_NODENAME=t1 SLURM_JOB_ID=4711 PATH="$shared/bin:$PATH" "$folder/stabd" --on-node \
    '{"token":"t","privileged":false,"network":true,"silence_ms":100}'
}
mkdir "$shared/bin"
printf '#!/bin/sh\necho "$@" >%s\n' "$shared/freed" >"$shared/bin/scancel"
chmod 755 "$shared/bin" "$shared/bin/scancel"
lock=/var/tmp/stabd-1/t1.lock
as_user_on_n2 flock --no-fork "$lock" sleep 1001 &
until_true "another process holds the lock" in_lab pgrep -f '^sleep 1001$'
on_node >"$work/on_node" 2>>"$work/log" &
step=$!
until_true "the step that waits gives signs of life" test -s "$work/on_node"
[[ $(in_lab stat --format=%u "/proc/$(in_lab pgrep -f "^$folder/stabd --on-node")/environ") == 0 ]] ||
  fail "the node's process is dumpable while it waits"
as_user_on_n2 flock --no-fork "$lock.new" sleep 1002 &
until_true "a process holds the new lock" in_lab pgrep -f '^sleep 1002$'
as_user_on_n2 mv "$lock.new" "$lock"
in_lab pkill -f '^sleep 1001$'
wait "$step" || fail "the step that waited fails: $(cat "$work/on_node")"
[[ $(<"$work/on_node") == *'"loss":"old-step"'*"an earlier step of stabd"* ]] || fail "a step that gets no lock says: $(cat "$work/on_node")"
(($(grep -c '^$' "$work/on_node") >= 5)) || fail "a step that waits gives few signs of life: $(cat "$work/on_node")"
sleep 2 | on_node >"$work/on_node" 2>>"$work/log" || fail "a step fails for which nobody waits: $(cat "$work/on_node")"
[[ $(cat "$shared/freed") == 4711 ]] || fail "a step for which nobody waits does not free its allocation"
in_lab pkill -f '^sleep 1002$'

# The words of stabd's process on the head if there is no Slurm, and if an earlier job does not end.
mkdir "$work/nothing" "$work/slurm"
for program in srun scancel; do printf '#!/bin/sh\n' >"$work/slurm/$program"; done
printf '#!/bin/sh\necho 7 stabd-x\n' >"$work/slurm/squeue"
chmod +x "$work/slurm"/*
words='"name":"stabd-x","comment":"","token":"t","names":[],"others":[],"partition":"","account":"","qos":"","constraint":"",
  "reservation":"","minutes":0,"privileged":false,"network":true,"silence_ms":100,"wait_ms":1000,"machines":1,"only_frees":false'
head_says() {
  env -i PATH="$1" "$folder/stabd" --on-head "{\"program\":\"/bin/false\",$words}" 3>"$work/said" 2>"$work/err" || true
  cat "$work/said"
}
[[ $(head_says "$work/nothing") == *'"kind":"lost"'*'"loss":"cannot-start"'*"cannot start srun"*"install Debian's package slurm-client"* ]] ||
  fail "without Slurm it says: $(cat "$work/said" "$work/err")"
[[ $(head_says "$work/slurm") == *'"loss":"old-step"'*"has not ended: 7. 'squeue' shows"* ]] ||
  fail "about an earlier job it says: $(cat "$work/said" "$work/err")"

# A step that gives signs of life has its node, so it is not given up for want of one. Here, the head's lines to the daemon
# return to the step.
printf '#!/bin/sh\n' >"$work/slurm/squeue"
cat >"$work/slurm/salloc" <<END
#!/bin/sh
for i in 1 2 3; do echo; /bin/sleep 1; done
echo '{"kind":"lost","loss":"old-step","reason":"late"}'
/bin/grep -m 1 lost >$work/returned
END
chmod +x "$work/slurm/salloc"
mkfifo "$work/daemon"
timeout 60 env -i PATH="$work/slurm" "$folder/stabd" --on-head "{\"program\":\"/bin/false\",$words}" 3<>"$work/daemon" 2>"$work/err" || true
[[ $(cat "$work/returned") == *'"reason":"late"'* ]] || fail "a step that waits for its node is given up: $(cat "$work/err")"
finish
