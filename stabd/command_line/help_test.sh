#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Help and completion of stabctl as users and their shells meet them.
set -euo pipefail
export PATH=$2/bin:$PATH
work=$(mktemp -d)
daemon=
trap '[[ -z $daemon ]] || { kill "$daemon" && wait "$daemon" || true; }; rm -rf "$work"' EXIT
cd "$work"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

# Each verb, and each part of one, ends its help with examples of itself.
verbs=$(stabctl help --json | awk -F'"' '/"verbs": \[/ { inside = 1 } inside && /^      "name":/ { print $4 }')
[[ $(wc -w <<<"$verbs") -gt 25 ]] || fail "only these verbs: $verbs"
for verb in $verbs 'quiesce status' 'quiesce apply' 'quiesce restore'; do
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
for verb in $(sed -nE 's/^  stabctl ([a-z]+) .*/\1/p' first); do
  grep -qx "$verb" <<<"$verbs" || fail "there is no $verb"
done
if stabctl report --format pdf 2>said; then fail "a wrong value is taken"; fi
grep -q "^stabctl: .*'stabctl report --help' shows how to call it$" said || fail "$(cat said)"

if stabctl repot 1 2>said; then fail "an unknown verb is taken"; fi
grep -qF "there is no 'stabctl repot', did you mean 'report'?" said || fail "$(cat said)"
if stabctl help quiesce aply 2>said; then fail "an unknown verb is taken"; fi
grep -qF "did you mean 'apply'?" said || fail "$(cat said)"

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
completes "status apply restore" quiesce ''
completes "apply" quiesce a
completes "--folder --format --fail-on --full" report --f
completes "text json html" report --format ''
completes "trials regressed unsure none" watch --fail-on ''
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
stabd --config stabd.toml --state state --socket "$work/s.sock" --cache cache --ready-fd 5 5<>ready 2>log &
daemon=$!
read -r -t 60 <ready || fail "stabd did not begin: $(cat log)"
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

# Not everybody has these shells.
for shell in zsh fish; do
  stabctl completion $shell >script.$shell
  [[ $(wc -l <script.$shell) -gt 10 ]] || fail "there is no script for $shell"
  ! command -v $shell >/dev/null || $shell -n script.$shell || fail "$shell does not take its script"
done
if stabctl completion tcsh 2>said; then fail "tcsh has no script"; fi
