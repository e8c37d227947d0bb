#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Includes point one way only (doc/architecture.md has the picture).
set -euo pipefail
cd "$1"

# folder: what it may include, besides itself
allowed() {
  case $1 in
    base) echo "" ;;
    plan | counters | stats) echo "base" ;;
    machine) echo "base counters" ;;
    report) echo "base stats" ;;
    store) echo "base plan/plan.h counters/reading.h" ;;
    stabd) echo "base plan counters machine store stats report" ;;
    runtime) echo "" ;;
    instrumenter) echo "base runtime/abi.h runtime/interposed.inc runtime/validate.h" ;; # its tests ask the runtime whether a table is good
    bench | tests) echo "base plan counters machine store stats report stabd instrumenter runtime" ;;
    *) return 1 ;;
  esac
}

# Inside of stabd: the client talks to the daemon over the wire, the worker knows neither.
allowed_in_stabd() {
  case $1 in
    wire) echo "stabd/wire" ;;
    paths*) echo "stabd/paths.h stabd/testing.h" ;;
    worker) echo "stabd/wire stabd/worker stabd/testing.h" ;;
    results) echo "stabd/results stabd/testing.h" ;;
    daemon) echo "stabd/wire stabd/results stabd/daemon" ;;
    client) echo "stabd/wire stabd/paths.h stabd/client stabd/daemon/builds.h" ;;
    main_*) echo "stabd" ;;
    *) return 1 ;;
  esac
}

permits() { # permits INCLUDE ALLOWED...
  local include=$1
  shift
  for prefix in "$@"; do
    [[ $include == "$prefix" || $include == "$prefix"/* ]] && return 0
  done
  return 1
}

bad=0
while IFS=: read -r file include; do
  folder=${file%%/*}
  [[ -d ${include%%/*} ]] || continue # a header of somebody else's
  if ! rule=$(allowed "$folder"); then
    echo "$file: the folder '$folder' has no rule in $0"
    bad=1
    continue
  fi
  if [[ $folder == stabd && $include == stabd/* ]]; then
    inner=${file#stabd/}
    rule=$(allowed_in_stabd "${inner%%/*}") || rule=
  elif [[ ${include%%/*} == "$folder" ]]; then
    continue
  fi
  # shellcheck disable=SC2086
  permits "$include" $rule || { echo "$file must not include $include"; bad=1; }
done < <(git ls-files -co --exclude-standard '*.h' '*.cc' '*.cpp' '*.c' '*.inc' |
  xargs grep -HoE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"[^"]+"' |
  sed -E 's/^([^:]+):.*"([^"]+)"/\1:\2/')

count=$(git ls-files -co --exclude-standard '*.cc' | wc -l)
[[ $count -gt 20 ]] || { echo "only $count sources were looked at"; bad=1; }
exit $bad
