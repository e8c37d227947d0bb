#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Includes point one way only (doc/architecture.md has the picture): each file includes only what layering.txt allows to
# its room.
set -euo pipefail -o noglob
cd "$1"

bad=0
# Two arrays hold each kind of line in layering.txt: one the patterns, the other what the line says about them.
place_patterns=() places=() room_patterns=() room_rules=() test_patterns=() test_rules=()
declare -A sets
while read -r kind text; do
  [[ -n $kind && $kind != '#'* ]] || continue
  patterns=${text%% :*} words=
  for word in ${text#"$patterns"}; do
    case $word in
      :) ;;
      \$*) words+=" ${sets[${word#?}]?tests/lint/layering.txt uses the set $word before its line}" ;;
      *) words+=" $word" ;;
    esac
  done
  case $kind in
    folder | two-parts | stem) place_patterns+=("$text") places+=("$kind") ;;
    set) sets[${text%% *}]=${text#* } ;;
    room) room_patterns+=("$patterns") room_rules+=("$words") ;;
    tests) test_patterns+=("$patterns") test_rules+=("$words") ;;
    *) echo "tests/lint/layering.txt: '$kind' is not understood"; bad=1 ;;
  esac
done <tests/lint/layering.txt

# first_match TEXT PATTERNS...: sets found to the number of the first argument with a pattern that matches.
first_match() {
  local text=$1 patterns pattern
  shift
  found=0
  for patterns in "$@"; do
    # shellcheck disable=SC2053
    for pattern in $patterns; do [[ $text != $pattern ]] || return 0; done
    found=$((found + 1))
  done
  return 1
}

# Sets room: where the file belongs.
find_room() {
  local inner=${1#*/}
  first_match "$1" "${place_patterns[@]}" || { room=${1%%/*}; return; }
  case ${places[found]} in
    folder) room=${1%/*} ;;
    two-parts) room=${1%%/*}/${inner%%/*} ;;
    stem) room=${1%%.*} room=${room%_test} room=${room%_fuzz} ;;
  esac
}

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

looked_at=0
declare -A rules # of each room that was met; none: it has no rule
while IFS=: read -r file include; do
  [[ $include == */* ]] || continue
  [[ ! -e ${file%/*}/$include ]] || { echo "$file includes $include by a path that is not from the top"; bad=1; }
  [[ -d ${include%%/*} ]] || continue # a header of somebody else's
  looked_at=$((looked_at + 1))
  find_room "$file"
  if [[ -z ${rules[$room]+known} ]]; then
    if first_match "$room" "${room_patterns[@]}"; then rules[$room]=${room_rules[found]}; else rules[$room]=none; fi
  fi
  rule=${rules[$room]}
  if [[ $rule == none ]]; then
    echo "$file: the room '$room' has no rule in tests/lint/layering.txt"
    bad=1
    continue
  fi
  if [[ $file == *_test.cc || $file == *_fuzz.cc ]] && first_match "$room" "${test_patterns[@]}"; then
    rule+=${test_rules[found]}
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
