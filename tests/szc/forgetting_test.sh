#!/bin/bash
# SPDX-License-Identifier: MIT
# forgetting_test.sh SOURCE BUILD: programs whose threads sleep all the time, be they many, that keep jmp_bufs or places
# of the code, or whose libraries do so or could make contexts, live through more layouts than fit at a time, and right up to
# their end. Where all layouts are kept, their bytes are bounded.
set -u
. "$1/tests/lib.sh"
. "$source_directory/tests/programs/build.sh"
most_layouts=64

# forgets FILE FLAGS [MOST [MILLISECONDS [:OPTIONS]]]: with at most so many old layouts kept at a time.
forgets() {
  local folder=$work/${1%.*} epochs kept
  mkdir -p "$folder/ours" && build "$folder/ours" "$programs/$1" "$szc" "$szc" "$2" >"$folder/log" 2>&1 ||
    { cat "$folder/log"; failures=$((failures + 1)); return; }
  HAZARD_MS=${4:-1500} run "$folder/ours" "code=1:strict=1:budget=off:period=2ms:seed=3:poison=1${5-}:report=$folder/report" >"$folder/output"
  epochs=$(sed -n 's/.*"epochs": \([0-9]*\).*/\1/p' "$folder/report" | tail -1)
  kept=$(sed -n 's/.*"layouts_kept": \([0-9]*\).*/\1/p' "$folder/report" | tail -1)
  if grep -qx 'exit 0' "$folder/output" && [ "${epochs:-0}" -gt $((most_layouts + 10)) ] && [ "${kept:-64}" -le "${3:-64}" ]; then
    echo "$1 $2: ${epochs} layouts, ${kept} kept"
  else
    fail "$1 $2: ${epochs:-no} layouts, ${kept:-?} kept; $(tail -n 2 "$folder/output" "$folder/ours/errors" "$folder/report")"
  fi
}

# stays FILE FLAGS: layouts stay from some time on, and the report names the library.
stays() {
  local folder=$work/${1%.*}
  mkdir -p "$folder/ours" && build "$folder/ours" "$programs/$1" "$szc" "$szc" "$2" >"$folder/log" 2>&1 ||
    { cat "$folder/log"; failures=$((failures + 1)); return; }
  HAZARD_MS=1500 run "$folder/ours" "code=1:strict=1:budget=off:period=2ms:seed=3:poison=1:report=$folder/report" >"$folder/output"
  if grep -qx 'exit 0' "$folder/output" && tail -n 1 "$folder/report" | grep 'all layouts are kept' | grep -q "\"layouts_stay_for\": \"[^\"]*${1%.*}_library.so\""; then
    echo "$1 $2: layouts stay"
  else
    fail "$1 $2: $(tail -n 2 "$folder/output" "$folder/ours/errors" "$folder/report")"
  fi
}

# bounded FILE FLAGS: all layouts are kept, the report says that their bytes are the reason for no more, and how many there are.
bounded() {
  local folder=$work/${1%.*} bytes epochs
  mkdir -p "$folder/ours" && build "$folder/ours" "$programs/$1" "$szc" "$szc" "$2" >"$folder/log" 2>&1 ||
    { cat "$folder/log"; failures=$((failures + 1)); return; }
  HAZARD_MS=3000 run "$folder/ours" "code=1:strict=1:budget=off:period=2ms:seed=3:report=$folder/report" >"$folder/output"
  bytes=$(sed -n 's/.*"layout_bytes": \([0-9]*\).*/\1/p' "$folder/report" | tail -1)
  epochs=$(sed -n 's/.*"epochs": \([0-9]*\).*/\1/p' "$folder/report" | tail -1)
  if grep -qx 'exit 0' "$folder/output" && tail -n 1 "$folder/report" | grep -q '"why_given_up": "no room for another layout within the limit of 256 MB: all layouts are kept' &&
    [ "${epochs:-0}" -ge 5 ] && [ "${bytes:-0}" -gt 0 ] && [ "${bytes:-0}" -le $((256 << 20)) ]; then
    echo "$1 $2: $epochs layouts of $bytes bytes"
  else
    fail "$1 $2: ${epochs:-no} layouts of ${bytes:-?} bytes; $(tail -n 2 "$folder/output" "$folder/ours/errors" "$folder/report")"
  fi
}

forgets epoch_sleepers.c '-O2 -pthread'
forgets epoch_many_sleepers.c '-O2 -pthread' 64 5000
given_up=$(sed -n 's/.*"event": "exit".*"given_up": \([0-9]*\).*/\1/p' "$work/epoch_many_sleepers/report")
[ "$given_up" = 0 ] || fail "epoch_many_sleepers.c: ${given_up:-unknown} epochs were given up"
forgets epoch_long_jumps.c -O0
forgets epoch_long_jumps.c -O2
forgets epoch_kept_places.c -O0
forgets epoch_kept_places.c -O2
forgets epoch_own_stack.c -O0
forgets epoch_vtables.cpp '-O2 -std=c++20 -fvisibility=hidden'
forgets epoch_own_stack.c -O2
forgets epoch_own_stack.c '-O2 -flto'
forgets epoch_slow_loading.c '-O2 -ldl'

# Loops with pads.
forgets epoch_outer_loops.c -O2 14 1500 :stack=1
forgets epoch_outer_loops.c '-O3 -flto' 14 1500 :stack=1

# Libraries that szc did not build.
forgets epoch_guarded.c -O2 3
forgets epoch_guarded.c '-O3 -Wl,--as-needed -DLATE -ldl' 3
forgets epoch_late_contexts.c -O2 3
forgets epoch_copied_jumps.c -O2
forgets epoch_copied_jumps.c -O3
stays epoch_late_contexts.c '-O2 -DMADE'
stays epoch_guarded.c '-O2 -Wl,--as-needed -DLATE -DDEEP -DTABLES -ldl'

bounded epoch_bytes.c -O2

# One that could make contexts (for its asynchronous jobs) and does not.
crypto=$(ldconfig -p 2>/dev/null | sed -n 's/.*libcrypto\.so\.3 .*x86-64.*=> //p' | head -1)
if [ -n "$crypto" ]; then
  forgets epoch_guarded.c "-O2 -Wl,--no-as-needed $crypto" 3
  readelf -d "$work/epoch_guarded/ours/program" | grep -q libcrypto || fail "libcrypto is not linked"
else
  skipped "libcrypto.so.3 is not on this machine"
fi
finish
