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
    causal/*/* | stats/*/* | report/*/* | plan/*/* | counters/*/* | machine/*/* | runtime/*/* | instrumenter/*/* | stabd/*) room=${1%%/*}/${inner%%/*} ;;
    *) room=${1%%/*} ;;
  esac
}

# room: the rooms and files that it may include, besides itself
allowed() {
  case $1 in
    base) echo "" ;;
    counters) echo "base" ;;
    counters/events) echo "base counters" ;;
    counters/profiles) echo "base counters counters/events runtime/base/places.h" ;;
    causal/session) echo "" ;;
    causal/preload) echo "causal/session runtime/base runtime/arch runtime/walk runtime/stabilizer.h" ;;
    causal/lines) echo "base causal/session" ;;
    causal/run) echo "base causal/session causal/lines machine stats/causal" ;;
    toml) echo "base" ;;
    plan) echo "base toml" ;;
    design) echo "base plan/plan.h plan/options.h plan/substitute.h plan/measures/formula.h" ;;
    plan/measures) echo "base counters plan/plan.h" ;;
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
    machine) echo "base counters machine/starter/start.h" ;;
    machine/starter) echo "base runtime/base/system_call.h" ;;
    machine/quality) echo "base counters machine machine/quiet/tree_testing.h" ;;
    machine/quiet) echo "base counters/reading.h machine machine/quality/observer.h" ;;
    report/words) echo "base stats/*" ;;
    report/sections) echo "base stats/* report/words report/model.h report/text.h" ;;
    report/drawing) echo "base" ;;
    report/html) echo "base stats/* report/drawing report/words report/sections report/model.h report/text.h" ;;
    report) echo "base stats/* report/words report/sections" ;;
    store) echo "base plan/plan.h counters/profile.h counters/reading.h counters/samples.h" ;;
    runtime | runtime/base) echo "" ;;
    runtime/abi | runtime/arch | runtime/threads) echo "runtime/base" ;;
    runtime/walk) echo "runtime/base runtime/abi/byte_reader.h" ;;
    runtime/image) echo "runtime/base runtime/abi" ;;
    runtime/debug) echo "runtime/base runtime/image" ;;
    runtime/malloc/memory) echo "runtime/base" ;;
    runtime/malloc/slabs) echo "runtime/base runtime/malloc/memory" ;;
    runtime/malloc/allocators) echo "runtime/base runtime/malloc/memory runtime/malloc/slabs" ;;
    runtime/malloc/optional) echo "runtime/base runtime/malloc/memory runtime/malloc/slabs runtime/malloc/allocators" ;;
    runtime/malloc/interface) echo "runtime/base runtime/malloc/* runtime/abi/abi.h" ;;
    runtime/epoch) echo "runtime/base runtime/abi runtime/arch runtime/walk runtime/image runtime/debug runtime/threads" ;;
    runtime/start) echo "runtime/*" ;;
    instrumenter) echo "runtime/abi/interposed.inc" ;;
    instrumenter/pass) echo "base runtime/abi" ;;
    instrumenter/postlink/elf) echo "base runtime/abi/byte_reader.h" ;;
    instrumenter/postlink/decode) echo "" ;;
    instrumenter/postlink/program) echo "runtime/abi instrumenter/postlink/elf instrumenter/postlink/decode" ;;
    instrumenter/postlink/code) echo "$below_stages" ;;
    instrumenter/postlink/frames) echo "$below_stages instrumenter/postlink/code" ;;
    instrumenter/postlink) echo "base $below_stages instrumenter/postlink/frames instrumenter/postlink/code/lsda.h" ;;
    instrumenter/driver) echo "base instrumenter/link_flags.h" ;;
    instrumenter/driver/padding) echo "base instrumenter/driver" ;;
    instrumenter/driver/linking) echo "base instrumenter/link_flags.h instrumenter/driver instrumenter/driver/padding instrumenter/postlink/postlink.h" ;;
    # The client talks to the daemon in the messages of protocol, the worker knows neither.
    stabd/protocol) echo "$below_stabd stabd/protocol" ;;
    stabd/paths.h | stabd/paths.cc | stabd/paths_test.cc) echo "stabd/paths.h" ;;
    stabd/revisions) echo "base plan plan/reading machine stabd/testing.h" ;;
    stabd/settings) echo "base toml" ;;
    stabd/service) echo "base" ;;
    stabd/upkeep) echo "base store stabd/settings" ;;
    stabd/exclusion) echo "base plan/plan.h plan/quantities.h counters store stats/verdicts report/model.h" ;;
    stabd/archive) echo "base toml plan/reading store stabd/exclusion/judge.h stabd/results/trials.h stabd/upkeep" ;;
    stabd/manual) echo "" ;;
    stabd/main_stabd.cc) echo "base toml stabd/manual stabd/paths.h stabd/settings stabd/service stabd/daemon/daemon.h stabd/reader/reader.h stabd/worker/worker.h" ;;
    stabd/command_line) echo "base stabd/manual stabd/paths.h stabd/client stabd/client/ab stabd/client/causal stabd/client/database stabd/client/history stabd/client/machine stabd/client/replay stabd/client/web" ;;
    stabd/main_stabctl.cc) echo "base/streams.h stabd/client/output.h stabd/client/exit_code.h stabd/command_line" ;;
    stabd/worker) echo "$below_stabd causal/run/program.h machine/quality stabd/protocol stabd/worker/causal stabd/revisions stabd/testing.h" ;;
    stabd/worker/causal) echo "base causal/run causal/lines/line_map.h machine stats/causal store/records.h stabd/protocol" ;;
    stabd/reader) echo "$below_stabd machine/quiet/quiet.h stabd/protocol stabd/revisions/of_plan.h stabd/results stabd/results/exports/export.h stabd/results/pages/pages.h stabd/results/profiles/profiles.h stabd/archive/archive.h" ;;
    stabd/results) echo "$below_stabd stabd/exclusion stabd/results/sums stabd/protocol/messages.h stabd/protocol/run.h stabd/protocol/cache.h stabd/testing.h" ;;
    stabd/results/sums) echo "plan/plan.h plan/measures/regions.h plan/measures/simulated.h counters/reading.h store report/model.h stats/numbers stats/tests/variance_components.h" ;;
    stabd/results/exports) echo "$below_stabd stabd/results" ;;
    stabd/results/pages) echo "$below_stabd stabd/protocol/messages.h stabd/results stabd/results/sums/samples.h stabd/testing.h" ;;
    stabd/results/profiles) echo "$below_stabd stabd/protocol/run.h stabd/results stabd/testing.h" ;;
    stabd/daemon/session) echo "$below_stabd machine/quality machine/quiet stabd/exclusion stabd/protocol stabd/results" ;;
    stabd/daemon/children) echo "base machine" ;;
    stabd/daemon/host) echo "base machine machine/quiet stabd/settings" ;;
    stabd/daemon) echo "$below_stabd machine/quality machine/quiet stabd/protocol stabd/revisions stabd/results stabd/results/exports/export.h stabd/settings stabd/service stabd/upkeep stabd/archive stabd/daemon/*" ;;
    stabd/client/ab) echo "$below_stabd stabd/protocol stabd/revisions stabd/client stabd/client/run stabd/paths.h stabd/testing.h stabd/worker/preload.h stabd/worker/trial.h" ;;
    stabd/client/run) echo "$below_stabd stabd/protocol stabd/client stabd/paths.h" ;;
    stabd/client/check) echo "$below_stabd machine/quality stabd/exclusion stabd/protocol stabd/client stabd/daemon/session/builds.h" ;;
    stabd/client/replay) echo "$below_stabd stabd/protocol stabd/client stabd/worker/binary.h stabd/worker/trial.h" ;;
    stabd/client/database) echo "$below_stabd stabd/protocol stabd/paths.h stabd/client stabd/upkeep stabd/archive" ;;
    stabd/client/causal) echo "$below_stabd causal/* stabd/client stabd/client/run stabd/protocol" ;;
    stabd/client/history) echo "$below_stabd stabd/protocol stabd/client" ;;
    stabd/client/machine) echo "$below_stabd machine/quiet stabd/client stabd/paths.h" ;;
    stabd/client/live) echo "base report/words stabd/protocol/messages.h" ;;
    stabd/client/foreign) echo "base plan/plan.h plan/measures/google_benchmark.h stats/data" ;;
    stabd/client) echo "$below_stabd stabd/client/live stabd/client/foreign stabd/protocol stabd/revisions stabd/paths.h stabd/testing.h stabd/daemon/session/builds.h stabd/results/answers.h stabd/results/document.h stabd/results/exports/export.h stabd/results/pages/pages.h stabd/results/profiles/profiles.h stabd/results/replay.h" ;;
    stabd/client/web) echo "base report/html stabd/protocol stabd/client" ;;
    bench | tests) echo "base causal/* toml plan plan/* design counters counters/* machine machine/* store stats/* report report/* stabd stabd/* instrumenter/* runtime runtime/*" ;;
    *) return 1 ;;
  esac
}
below_stages="runtime/abi instrumenter/postlink/elf instrumenter/postlink/decode instrumenter/postlink/program"
below_stabd="base toml plan plan/* design counters counters/* machine store stats/* report report/*"

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
