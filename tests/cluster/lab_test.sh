#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The emulated laboratory: its nodes run steps with the user's rights and their own files, its
# daemons can be ended and started again, and nothing is left of it at the end.
set -euo pipefail
. "$1/tests/lib.sh"
lab=$1/tests/cluster/lab
chmod 755 "$work"  # users of the laboratory read its settings
folder=$work/lab
at_end() { "$lab" stop "$folder" 2>/dev/null; }

code=0
"$lab" start "$folder" 2 || code=$?
[[ $code != 77 ]] || skip_all "there is no laboratory here"
[[ $code == 0 ]] || fail "it does not start"
in_lab() { timeout 60 "$lab" run "$folder" "$@"; }

"$lab" start "$folder" 2>/dev/null && fail "it starts twice in one folder"
# This comes first: a restarted controller believes for a while that jobs run whose end it has
# not saved.
# Waits until `sinfo` shows the state of a node.
wait_for() {
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    [[ $(in_lab sinfo --noheader --Node --nodes="$1" --format=%T 2>/dev/null) != "$2" ]] || return 0
    sleep 0.1
  done
  fail "$1 is not $2: $(in_lab sinfo 2>&1)"
}
in_lab kill -KILL $("$lab" pids "$folder" n2)
in_lab kill -KILL $("$lab" pids "$folder" slurmctld)
in_lab timeout 1 sinfo >/dev/null 2>&1 && fail "the controller answers after its end"
"$lab" again "$folder" slurmctld
"$lab" again "$folder" n2
wait_for n2 idle
[[ $(in_lab srun -w n2 echo again) == again ]] || fail "n2 does not work again"

[[ $(in_lab srun -w n2 printenv SLURMD_NODENAME) == n2 ]] || fail "a step does not run on n2"
# Uid 1, gid 2 and no further group.
as_user() { in_lab setpriv --reuid 1 --regid 2 --clear-groups env -C / "$@"; }
[[ $(as_user srun -w n1 sh -c 'id -u; id -g' | xargs) == "1 2" ]] || fail "a step has other rights than its user"

touch "$folder/shared/everywhere"
"$lab" on "$folder" n1 touch /tmp/mine
[[ $(in_lab srun -w n1 ls /tmp/mine "$folder/shared") == *mine*everywhere* ]] || fail "n1 does not see its files"
in_lab srun -w n2 ls /tmp/mine 2>/dev/null && fail "n2 sees the files of n1"
[[ ! -e /tmp/mine ]] || fail "the machine sees the files of n1"

"$lab" stop "$folder"
[[ ! -e $folder ]] || fail "its folder is left"
! pgrep -af "$folder" || fail "processes are left"
finish
