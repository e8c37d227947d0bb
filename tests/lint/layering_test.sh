#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Includes point one way only (doc/architecture.md has the picture).
set -euo pipefail -o noglob
cd "$1"

# Sets room: of the house, where the file is.
find_room() {
  local inner=${1#*/}
  case $1 in
    runtime/malloc/*/* | instrumenter/*/*/* | stabd/*/*/*) room=${1%/*} ;;
    causal/*/* | stats/*/* | report/*/* | plan/*/* | counters/*/* | machine/*/* | runtime/*/* | instrumenter/*/* | client/*/* | stabd/*/*) room=${1%%/*}/${inner%%/*} ;;
    # The files beside the folders of stabd/ are rooms of their own: stabd/settings is settings.h, .cc and its tests.
    stabd/*) room=${1%%.*} room=${room%_test} room=${room%_fuzz} ;;
    *) room=${1%%/*} ;;
  esac
}

# room: the rooms and files that it may include, besides itself
allowed() {
  case $1 in
    base) echo "" ;;
    cmake) echo "base plan report report/words store" ;;
    counters) echo "base" ;;
    counters/events) echo "base counters" ;;
    counters/profiles) echo "base counters counters/events runtime/base" ;;
    causal) echo "" ;;
    causal/preload) echo "causal runtime/base runtime/arch runtime/walk runtime/stabilizer.h" ;;
    causal/lines) echo "base causal" ;;
    causal/run) echo "base causal causal/lines machine stats/causal" ;;
    toml) echo "base" ;;
    plan) echo "base toml runtime/base/allocators.h" ;;
    design) echo "base plan plan/measures" ;;
    plan/measures) echo "base counters plan" ;;
    plan/reading) echo "base toml plan plan/measures design" ;;
    stats/numbers) echo "base" ;;
    stats/series) echo "base" ;;
    stats/causal) echo "base stats/numbers stats/tests" ;;
    stats/tests) echo "base stats/numbers" ;;
    stats/planning) echo "base stats/numbers stats/tests" ;;
    stats/data) echo "base stats/numbers stats/planning" ;;
    stats/models) echo "base stats/numbers stats/tests stats/data" ;;
    stats/verdicts) echo "base stats/numbers stats/tests stats/planning stats/data" ;;
    stats/designs) echo "base stats/numbers stats/tests stats/data stats/models stats/verdicts" ;;
    stats/analyse) echo "base stats/*" ;;
    stats/oracle) echo "base stats/data stats/verdicts" ;;
    machine) echo "base counters runtime/base runtime/abi/abi.h machine/quiet/tree_testing.h" ;;
    machine/quiet) echo "base counters machine" ;;
    report/words) echo "base stats/*" ;;
    report/sections) echo "base stats/* report/words report/model.h report/text.h" ;;
    report/html) echo "base stats/* report/words report/sections report/model.h report/text.h" ;;
    report) echo "base stats/* report/words report/sections" ;;
    store) echo "base plan counters" ;;
    runtime | runtime/base) echo "" ;;
    runtime/abi | runtime/arch) echo "runtime/base" ;;
    runtime/walk) echo "runtime/base" ;;
    runtime/image) echo "runtime/base runtime/abi" ;;
    runtime/malloc/memory) echo "runtime/base" ;;
    runtime/malloc/allocators) echo "runtime/base runtime/malloc/memory" ;;
    runtime/malloc/interface) echo "runtime/base runtime/malloc/* runtime/abi/abi.h" ;;
    runtime/epoch) echo "runtime/base runtime/abi runtime/arch runtime/walk runtime/image" ;;
    runtime/start) echo "runtime/*" ;;
    instrumenter) echo "runtime/abi/interposed.inc" ;;
    instrumenter/pass) echo "base runtime/abi" ;;
    instrumenter/postlink/elf) echo "base runtime/base/byte_reader.h" ;;
    instrumenter/postlink/decode) echo "" ;;
    instrumenter/postlink/program) echo "runtime/abi instrumenter/postlink/elf instrumenter/postlink/decode" ;;
    instrumenter/postlink/code | instrumenter/postlink/frames) echo "$below_stages" ;;
    instrumenter/postlink) echo "base $below_stages instrumenter/postlink/*" ;;
    instrumenter/driver) echo "base instrumenter/link_flags.h" ;;
    instrumenter/driver/linking) echo "base instrumenter/link_flags.h instrumenter/driver instrumenter/postlink/postlink.h" ;;
    # Messages know no program, and a worker knows only messages: no daemon, no client, no report.
    revisions) echo "base plan plan/reading machine" ;;
    protocol) echo "$below_stabd" ;;
    worker) echo "$below_stabd causal/run causal/lines revisions protocol" ;;
    cluster) echo "base plan protocol machine machine/quiet" ;;
    results) echo "$below_stabd protocol" ;;
    stabd/settings) echo "base toml" ;;
    stabd/upkeep) echo "base store stabd/settings" ;;
    stabd/archive) echo "base toml plan/texts.h plan/reading store results stabd/upkeep" ;;
    stabd/manual) echo "" ;;
    stabd/reader) echo "$below_stabd revisions protocol results stabd/archive" ;;
    stabd/daemon/session) echo "$below_stabd protocol results" ;;
    stabd/daemon) echo "$below_stabd cluster revisions protocol results stabd/settings stabd/upkeep stabd/archive stabd/daemon/*" ;;
    stabd/main_stabd) echo "base toml protocol cluster worker stabd/*" ;;
    # The client's `check` says which builds a session would make, and the client asks Slurm what it says of its nodes.
    # A run names the jobs that its daemon could not end.
    client | client/*) echo "$below_stabd cluster causal/* revisions protocol worker results client client/* stabd/upkeep stabd/archive stabd/daemon/session/schedule.h stabd/daemon/allocations.h" ;;
    stabd/command_line) echo "base protocol client client/* stabd/manual" ;;
    stabd/main_stabctl) echo "base client stabd/command_line" ;;
    bench | tests) echo "*" ;;
    *) return 1 ;;
  esac
}
below_stages="runtime/abi instrumenter/postlink/elf instrumenter/postlink/decode instrumenter/postlink/program"
below_stabd="base toml plan plan/* design counters counters/* machine machine/* store stats/* report report/*"

# permits INCLUDE ITS_ROOM ALLOWED...: a file, a room, or ROOM/* for a room and those in it.
permits() {
  local include=$1 room=$2
  shift 2
  for rule in "$@"; do
    # shellcheck disable=SC2053
    [[ $include == "$rule" || $room == "$rule" || $include == $rule ]] && return 0
  done
  return 1
}

bad=0
looked_at=0
declare -A rules # what allowed() says of each room
while IFS=: read -r file include; do
  [[ $include == */* ]] || continue
  [[ ! -e ${file%/*}/$include ]] || { echo "$file includes $include by a path that is not from the top"; bad=1; }
  [[ -d ${include%%/*} ]] || continue # a header of somebody else's
  looked_at=$((looked_at + 1))
  find_room "$file"
  if [[ -z ${rules[$room]+known} ]]; then
    rules[$room]=$(allowed "$room") || rules[$room]=none
  fi
  rule=${rules[$room]}
  if [[ $rule == none ]]; then
    echo "$file: the room '$room' has no rule in $0"
    bad=1
    continue
  fi
  # A test may use what stands around the thing that it tests.
  if [[ $file == *_test.cc || $file == *_fuzz.cc ]]; then
    case $room in
      report/*) rule="$rule report report/*" ;;
      stats/*) rule="$rule stats/*" ;;
      plan | design) rule="$rule plan plan/* design toml" ;;
      runtime/*) rule="$rule runtime/*" ;;
      instrumenter/*) rule="$rule base instrumenter/* runtime/abi" ;;
    esac
  fi
  # Rooms may lie in a room: those count as others.
  own=$room
  find_room "$include"
  # shellcheck disable=SC2086
  [[ $room == "$own" ]] || permits "$include" "$room" $rule || { echo "$file must not include $include"; bad=1; }
done < <(git ls-files -co --exclude-standard '*.h' '*.cc' '*.cpp' '*.c' '*.inc' |
  xargs grep -HoE '^[[:space:]]*#[[:space:]]*include[[:space:]]+["<][^">]+[">]' |
  sed -E 's/^([^:]+):.*[<"]([^">]+)[">]/\1:\2/')

[[ $looked_at -gt 1000 ]] || { echo "only $looked_at includes were looked at"; bad=1; }
count=$(git ls-files -co --exclude-standard '*.cc' | wc -l)
[[ $count -gt 20 ]] || { echo "only $count sources were looked at"; bad=1; }
exit $bad
