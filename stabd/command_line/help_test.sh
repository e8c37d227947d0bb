#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Help and completion of stabctl as users and their shells meet them, and what users meet when they err.
set -euo pipefail
. "$1/tests/lib.sh"
export PATH=$2/bin:$PATH
daemon=
at_end() { [[ -z $daemon ]] || { kill "$daemon" && wait "$daemon"; }; }
cd "$work"

# Each verb, and each part of one, ends its help with examples of itself.
verbs=$(stabctl help --json | awk -F'"' '/"verbs": \[/ { inside = 1 } inside && /^      "name":/ { print $4 }')
[[ $(wc -w <<<"$verbs") -gt 25 ]] || fail "only these verbs: $verbs"
for verb in $verbs 'quiet status' 'quiet apply' 'quiet restore'; do
  # shellcheck disable=SC2086
  stabctl $verb --help >help
  sed -n '/^Examples:$/,$p' help | tail -n +2 >shown
  [[ $(grep -c . shown) -ge 1 && $(grep -c . shown) -le 3 ]] || fail "the examples of $verb: $(cat help)"
  ! grep -v "stabctl ${verb%% *}" shown | grep -q . || fail "these are no examples of $verb: $(cat shown)"
  # shellcheck disable=SC2086
  diff <(stabctl help $verb | grep -v ^Usage) <(grep -v ^Usage help) || fail "help $verb differs from $verb --help"
done

# Without words it shows the five commands that people need first, each of which it has.
if stabctl >first; then fail "no words are taken for a command"; fi
[[ $(grep -c '^  stabctl ' first) -eq 5 ]] || fail "these are not five commands: $(cat first)"
[[ $(wc -L <first) -lt 80 ]] || fail "a line is wider than a terminal: $(cat first)"
for verb in $(sed -nE 's/^  stabctl ([a-z]+) .*/\1/p' first); do
  grep -qx "$verb" <<<"$verbs" || fail "there is no $verb"
done
if stabctl report --format pdf 2>said; then fail "a wrong value is taken"; fi
grep -q "^stabctl: .*'stabctl report --help' shows how to call it$" said || fail "$(cat said)"

if stabctl repot 1 2>said; then fail "an unknown verb is taken"; fi
grep -qF "there is no 'stabctl repot', did you mean 'report'?" said || fail "$(cat said)"
diff <(stabctl help) <(stabctl --help) || fail "help without a verb differs from --help"
if stabctl help quiesce aply 2>said; then fail "an unknown verb is taken"; fi
grep -qF "did you mean 'apply'?" said || fail "$(cat said)"

# refused WORDS ARGUMENT...: stabctl fails and says these words, none of them the parser's.
refused() {
  local words=$1
  shift
  if stabctl "$@" >said 2>&1; then fail "it takes: stabctl $*"; fi
  grep -qF -- "$words" said || fail "stabctl $* says: $(cat said)"
  ! grep -qE 'Could not convert|Run with --help|were not expected|Value .* not in range' said || fail "the parser's words: $(cat said)"
}
refused "'stabctl report id' must be a whole number above 0, not 'nope'" report nope
refused "'stabctl causal --runs' must be a whole number from 1 to 10000, not '0'" causal --runs 0 -- true
refused "'stabctl run' needs 'plan'" run
# An option that would change nothing is refused.
for option in '--runs 3' '--line a.c:1' --end-to-end '--timeout 5min'; do
  refused "--read and ${option%% *} cannot be used together" causal $option --read profile.coz
done
refused "--fail-on also needs --follow" logs 1 --fail-on trials
refused "--fail-on also needs --wait" submit plan.toml --fail-on trials
refused "write 'stabctl ab --program ./a ./b -- 100'" ab ./a ./b -- 100

# A mistake in the words of a command ends with the command that explains them.
helped() { # helped VERB WORD...
  refused "; 'stabctl $1 --help' shows how to call it" "$@"
  [[ $(tail -n 1 said) == *" shows how to call it" ]] || fail "stabctl $* ends with: $(tail -n 1 said)"
}
printf 'a,b\n1,2\n' >two.csv
: >there.toml
helped ab --budget soon -- true true
helped ab --budget 25h -- true true
helped ab --margin 80% -- true true
helped ab --cpu 4095 -- true true
helped ab --env 1x -- true true
helped ab --exit-codes none -- true true
helped ab --save there.toml -- true true
helped analyze two.csv
helped analyze two.csv --metric c --factors a
helped analyze two.csv --metric b --factors c
helped analyze two.csv --metric b --factors a --margin much
helped analyze two.csv --metric b --factors a --answer like-these
# A message uses the better name of an option that has two.
refused "--metric: name the column" analyze two.csv --factors a
refused "--margin much: give a share" analyze two.csv --response b --factors a --equivalence much
refused "--metric nope: " ab --response nope -- true true
helped watch --fail-on rain 1
helped pause
helped logs -f 1 --folder .
helped run --html . there.toml
helped export 1 --json --format coz
helped causal --load x -- true
refused "'stabctl keys' explains the keys of plans" check there.toml
[[ $(tail -n 1 said) == "'stabctl keys' explains"* ]] || fail "the last line is: $(tail -n 1 said)"
mkdir results
: >results/stabd.db
refused "results is a folder: name the TOML file of a plan ('stabctl keys'" check results
refused "to read the results in this folder: stabctl report --folder 'results'" run results
truncate -s 2M large.toml
refused "a plan is a TOML file that you can read ('stabctl keys' explains its keys)" check large.toml
for verb in report machines rm; do
  words="1 --folder nowhere"
  [[ $verb != machines ]] || words="--folder nowhere"
  # shellcheck disable=SC2086
  refused "('stabctl runs' lists these folders)" $verb $words
done

# A dry run prints Slurm's commands, and calls none of them.
mkdir slurm dry
for program in salloc srun squeue scontrol scancel; do
  printf '#!/bin/sh\ntouch "%s/called"\n' "$work" >"slurm/$program" && chmod +x "slurm/$program"
done
benchmark=$'[[benchmark]]\nname = "b"\nrun = ["true"]\nrepetitions = 2\n'
printf '[experiment]\nname = "n"\n[machines]\nengine = "slurm"\nnodes = ["n1", "n2"]\npartition = "lab"\n%s' "$benchmark" >dry/nodes.toml
PATH=$work/slurm:$PATH stabctl submit --dry-run dry/nodes.toml >said || fail "a dry run fails: $(cat said)"
for node in n1 n2; do
  grep -q "^salloc .*--partition=lab --nodelist=$node srun .*/stabd --on-node " said || fail "no step on $node: $(cat said)"
done
PATH=$work/slurm:$PATH stabctl run --dry-run --json dry/nodes.toml >said || fail "a dry run fails: $(cat said)"
grep -q '"words": \[' said || fail "its JSON is: $(cat said)"
[[ ! -e called ]] || fail "a dry run called Slurm"
# check says what Slurm says about the nodes, or why it says nothing.
mkdir away answers
printf '#!/bin/sh\necho "slurm_load_node: Unable to contact slurm controller" >&2; exit 1\n' >away/scontrol
cat >answers/scontrol <<'END'
#!/bin/sh
case "$*" in
  *node) printf 'NodeName=n1 State=IDLE Partitions=lab\nNodeName=n2 State=DOWN* Partitions=lab\nNodeName=n3 State=IDLE Partitions=other\n' ;;
  *partition) echo 'PartitionName=lab Default=YES DefaultTime=NONE MaxTime=01:00:00' ;;
esac
END
chmod +x away/scontrol answers/scontrol
PATH=$work/away:$PATH stabctl check dry/nodes.toml >said || fail "check without Slurm fails: $(cat said)"
grep -q "Slurm can't be asked about its nodes here: .*Unable to contact slurm controller.*slurm-client" said ||
  fail "check does not say that Slurm is away: $(cat said)"
PATH=$work/answers:$PATH stabctl check dry/nodes.toml >said || fail "check fails: $(cat said)"
grep -q "each allocation ends after the partition's time limit, 01:00:00;" said || fail "check shows no time limit: $(cat said)"
printf '[experiment]\nname = "n"\n%s' "$benchmark" >dry/local.toml
for asked in "2 but only 1 of 2 in the cluster's default partition can run jobs now" \
  "3 but the cluster's default partition has only 2: lower 'nodes'"; do
  PATH=$work/answers:$PATH stabctl check --machines "${asked%% *}" dry/local.toml >said || fail "check fails: $(cat said)"
  grep -qF "the plan asks for ${asked%% *} nodes, ${asked#* }" said || fail "check does not count the nodes: $(cat said)"
done
# From a range, check and submit choose as many nodes as are idle.
PATH=$work/answers:$PATH stabctl check --machines 1-3 dry/local.toml >said 2>&1 || fail "check fails: $(cat said)"
grep -qF "from the range of 1 to 3 nodes, stabctl has chosen 1" said && grep -qF "trials run on 1 (of 1 to 3) nodes of a Slurm cluster" said ||
  fail "check chooses no number: $(cat said)"
PATH=$work/answers:$PATH stabctl check --machines 2-3 dry/local.toml >said 2>&1 || fail "check fails: $(cat said)"
grep -qF "the plan asks for 2 nodes, but only 1 of 2 in" said || fail "check does not count the nodes: $(cat said)"
PATH=$work/away:$PATH refused "Slurm can't be asked how many nodes are idle" submit --machines 2-3 dry/local.toml
PATH=$work/answers:$PATH refused "the plan asks for 2 nodes, but only 1 of 2 in" submit --machines 2-3 dry/local.toml
refused "this plan does not use Slurm" submit --dry-run dry/local.toml
refused "--noise much: give a share" check --sd much dry/local.toml
refused "cannot be used together" submit --dry-run --wait dry/nodes.toml
for option in --again --web --html=page; do refused "cannot be used together" run --dry-run "$option" dry/nodes.toml; done
stabctl submit --dry-run --machines 2 dry/local.toml | grep -q -- '--exclude=OTHER_NODES' || fail "any nodes: no second one"

# The plan's file does not have the table that --machines adds, so no message gives a line of that table.
printf '[experiment]\nname = "n"\n%s[design]\nkind = "calibration"\n' "$benchmark" >dry/alone.toml
refused "dry/alone.toml: --machines 4 adds a table [machines], which does not fit this plan: 'machines.nodes' asks" \
  check --machines 4 dry/alone.toml
if grep -q 'alone.toml:[0-9]' said; then fail "a line of a table that is not there: $(cat said)"; fi

# Mistakes in plans.
one=$'name = "b"\nrun = ["true"]\n'
printf '[experiment]\nname = "t"\n[benchmark]\n%s[benchmark]\n%s' "$one" "$one" >twice.toml
refused "twice.toml:3:2: [benchmark] may appear only once: write [[benchmark]]" check twice.toml
printf '[experiment]\nname = "t"\n[[benchmark]]\nname = "b"\nbuild = "cp x.sh ${OUT}"\nrun = ["${OUT}"]\nsources = ["x.sh", "gone"]\n' >gone.toml
printf '#!/bin/sh\n' >x.sh
refused "gone.toml: 'benchmark.sources' of 'b' names gone, but " check gone.toml
mkdir gone
stabctl check gone.toml >/dev/null || fail "a folder is no source"
for words in '">", "/dev/null"' '">/dev/null"' '"2>&1"' '"|", "cat"' '"<", "x"'; do
  printf '[experiment]\nname = "t"\n[[benchmark]]\nname = "b"\nrun = ["echo", "x", %s]\n' "$words" >shell.toml
  stabctl check shell.toml 2>said >/dev/null || fail "$(cat said)"
  grep -q "warning: benchmark 'b' passes the argument .*starts no shell. To use a shell, write run = \[\"/bin/sh\"" said || fail "$words: $(cat said)"
  stabctl check --json shell.toml 2>said | grep -q "'run' starts no shell" || fail "JSON has no warning of $words"
done
for run in '"/bin/sh", "-c", "echo x > /dev/null", ">"' '"expr", "1", ">", "2"' '"echo", "a>b", "->", "1"'; do
  printf '[experiment]\nname = "t"\n[[benchmark]]\nname = "b"\nrun = [%s]\n' "$run" >shell.toml
  stabctl check shell.toml 2>said >/dev/null || fail "$(cat said)"
  [[ ! -s said ]] || fail "a warning of $run: $(cat said)"
done
# A plan whose average can never decide is still valid, because stored plans are read again.
printf '[experiment]\nname = "t"\n[[benchmark]]\nname = "b"\nrun = ["true"]\n[factor.env_bytes]\nlevels = [0, 64]\n[analysis]\nerror = "pooled"\nestimand = "typical"\n' >average.toml
stabctl check average.toml 2>said >/dev/null || fail "$(cat said)"
grep -q "warning: no comparison gets a verdict: 'analysis.estimand' is \"typical\", but error = \"pooled\" compares only means" said ||
  fail "no warning of an average that never decides: $(cat said)"

printf '[experiment]\nname = "t"\n[[benchmark]]\nname = "b"\nrun = ["true"]\n[analysis]\nhigher = ["wall"]\n' >higher.toml
stabctl check higher.toml 2>said >/dev/null || fail "$(cat said)"
grep -q "warning: 'analysis.higher' has no effect" said || fail "no warning of a direction that is not used: $(cat said)"

printf '[experiment]\nname = "t"\n[[benchmark]]\nname = "b"\nrun = ["true"]\n[design]\norder = "randomized-blocks"\n' >order.toml
stabctl check order.toml 2>said >/dev/null || fail "$(cat said)"
grep -q "warning: 'design.order' has no effect" said || fail "no warning of an order that is always used: $(cat said)"

# offered WORD...: what bash offers in place of the last word.
stabctl completion bash >script.bash
offered() {
  bash -c 'source ./script.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stabctl "$1"; echo "${COMPREPLY[*]}"' \
    bash stabctl "$@"
}
completes() { # completes EXPECTED WORD...
  local expected=$1 got
  shift
  got=$(offered "$@")
  [[ $got == "$expected" ]] || fail "'$got' and not '$expected' for: stabctl $*"
}
touch plan.toml numbers.csv
mkdir plans
bash -c 'source ./script.bash; complete -p stabctl' | grep -qx 'complete -F _stabctl stabctl' || fail "bash does not ask"
completes "report replay" rep
completes "report" repo
completes "status apply restore" quiet ''
completes "apply" quiesce a
completes "--folder --format --fail-on --full" report --f
completes "text json html" report --format ''
completes "trials regressed unsure none" watch --fail-on ''
completes "wall user system cpu relative_cpu max_rss main_to_exit region code-size" ab --response ''
completes "" ab --cpu ''
completes "--exit-codes" ab --exit
completes "own" analyze numbers.csv --error o
completes "plan.toml plans" run p
completes "plan.toml plans" submit --wait --priority 3 p
completes "numbers.csv" analyze n
completes "numbers.csv" ab -- n
completes "" submit --priority ''
completes "" no-such-verb-- --nothing
[[ $(bash -c 'source ./script.bash; COMP_WORDS=(stabctl ""); COMP_CWORD=1; _stabctl stabctl; echo "${#COMPREPLY[@]}"') -gt 25 ]] ||
  fail "not all verbs are offered"

# Numbers of experiments, from a daemon; without one nothing is said.
completes "" --socket "$work/s.sock" status ''
stabctl completion words -- --socket "$work/s.sock" status '' 2>said
[[ ! -s said ]] || fail "it says something at a prompt: $(cat said)"
printf '[experiment]\nname = "kept: this"\n[[benchmark]]\nname = "b"\nrun = ["true"]\nrepetitions = 2\n' >plan.toml
: >stabd.toml
mkfifo ready
begin_daemon() {
  stabd --config stabd.toml --state state --socket "$work/s.sock" --cache cache --ready-fd 5 5<>ready 2>log &
  daemon=$!
  read -r -t 60 <ready || fail "stabd did not begin: $(cat log)"
}
begin_daemon
stabctl --socket "$work/s.sock" submit plan.toml >/dev/null
# On a machine that is slow now it gives up, as at a prompt.
for verb in status pause report; do
  for _ in {1..50}; do
    got=$(offered --socket "$work/s.sock" $verb '')
    [[ $got != 1 ]] || break
  done
  [[ $got == 1 ]] || fail "'$got' and not experiment 1 for $verb"
done
completes "" --socket "$work/s.sock" report 2
for _ in {1..50}; do
  stabctl --socket "$work/s.sock" completion words -- report '' >said
  [[ ! -s said ]] || break
done
grep -q "^1	kept: this (" said || fail "what 1 is does not stand there: $(cat said)"

# Without a daemon: the numbers in a folder that is named, and the folders of runs.
kill "$daemon" && wait "$daemon" || fail "stabd ended with an error: $(cat log)"
daemon=
for _ in {1..50}; do
  got=$(offered report --folder "$work/state" '')
  [[ $got != 1 ]] || break
done
[[ $got == 1 ]] || fail "'$got' and not experiment 1 of the folder"
for _ in {1..50}; do
  got=$(offered report "--folder=$work/state" '')
  [[ $got != 1 ]] || break
done
[[ $got == 1 ]] || fail "'$got' and not experiment 1 after --folder=PATH"
completes "" report --folder "$work/state" 2
completes "" report --folder "$work/nowhere" ''
# Words are typed with quotes and with ~.
mkdir "two words"
cp -r state "two words/state"
finds_one() { # finds_one COMMAND...: prints the number of the experiment
  for _ in {1..50}; do
    got=$("$@")
    [[ $got != 1 ]] || return 0
  done
  fail "'$got' and not experiment 1: $*"
}
finds_one offered report --folder "'two words/state'" ''
finds_one offered report --folder 'two\ words/state' ''
# shellcheck disable=SC2088
HOME=$work finds_one offered report --folder '~/state' ''
# Root's runs are below /var/lib, which is then a folder of the test's own.
offered_runs() {
  if [[ $EUID == 0 ]]; then
    unshare -m bash -c 'mount -t tmpfs none /var/lib && mkdir -p /var/lib/stabd/runs && cp -r state /var/lib/stabd/runs/kept
      source ./script.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stabctl "$1"; echo "${COMPREPLY[*]}"' bash stabctl "$@"
  else
    offered "$@"
  fi
}
if [[ $EUID == 0 ]] && ! unshare -m mount -t tmpfs none /var/lib 2>/dev/null; then
  echo "skipped: mounts of our own are not allowed here"
else
  runs=/var/lib/stabd/runs
  if [[ $EUID != 0 ]]; then
    export XDG_STATE_HOME=$work/xdg
    runs=$work/xdg/stabd/runs
    mkdir -p "$runs" && cp -r state "$runs/kept"
  fi
  for line in "report --folder" "report --state" "export --folder" "run --folder"; do
    for _ in {1..50}; do
      # shellcheck disable=SC2086
      got=$(offered_runs $line "$runs/")
      [[ $got != "$runs/kept "* ]] || break
    done
    [[ $got == "$runs/kept "* || $got == "$runs/kept" ]] || fail "'$got' and not the folder of the run for: stabctl $line"
  done
fi

# The last lines ask a daemon.
begin_daemon
for shell in zsh fish; do
  stabctl completion $shell >script.$shell
  [[ $(wc -l <script.$shell) -gt 10 ]] || fail "there is no script for $shell"
  ! command -v $shell >/dev/null || $shell -n script.$shell || fail "$shell does not take its script"
done
mkdir bin
ln -s "$(command -v stabctl)" bin/stabctl
# in_zsh WORD..., as they are typed: what zsh's functions get to hear. Nothing to offer is no failure.
in_zsh() {
  zsh -fc '
    compdef() { }
    _call_program() { shift; eval "$*" 2>/dev/null; }
    _files() { print -r -- files $*; }
    _describe() { print -rl -- "${(@P)2}" | sed "s/:.*//"; }
    source ./script.zsh
    words=("$@") CURRENT=$#
    _stabctl || true' zsh "$@"
}
in_fish() { HOME=$work fish -c 'source ./script.fish; complete -C "$argv"' "$@" | cut -f 1; }
for shell in zsh fish; do
  command -v $shell >/dev/null || { skipped "$shell is not installed"; continue; }
  case $shell in
    zsh) line() { HOME=$work in_zsh "$@"; }; plans='files -g *.toml' ;;
    fish) line() { in_fish "$*"; }; plans='plan.toml plans/' ;;
  esac
  # shellcheck disable=SC2088
  for program in stabctl ./bin/stabctl '~/bin/stabctl'; do
    [[ $(line "$program" rep | sort | xargs) == "replay report" ]] || fail "$shell, $program: $(line "$program" rep)"
  done
  [[ $(line stabctl report --format '' | sort | xargs) == "html json text" ]] || fail "$shell: $(line stabctl report --format '')"
  [[ $(line stabctl report --format=j) == "--format=json" ]] || fail "$shell: $(line stabctl report --format=j)"
  [[ $(line stabctl run p | xargs) == "$plans" ]] || fail "$shell: $(line stabctl run p)"
  # shellcheck disable=SC2088
  for folder in state '~/state' "'two words/state'" 'two\ words/state'; do
    finds_one line stabctl report --folder "$folder" ''
  done
  finds_one line stabctl report --folder=state ''
  finds_one line stabctl --socket "$work/s.sock" report ''
done
if stabctl completion tcsh 2>said; then fail "tcsh has no script"; fi
