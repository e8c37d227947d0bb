#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# stabctl demo: one program in two link orders, in fixed and in random layouts; text of 80 columns, and JSON.
set -euo pipefail
. "$1/tests/lib.sh"
mkdir "$work/tmp"
export TMPDIR=$work/tmp

json=$("$stabctl" demo --json --seed 7)
field() { grep -oP "\"$1\":\K[^,}]+" <<<"$json" | head -n 1; }
[[ $(field seed) == 7 ]] || fail "the seed is not said: $json"
orders=$(grep -oP '"orders":\[\K[0-9]+,[0-9]+(?=\])' <<<"$json") || fail "no orders: $json"
[[ ${orders%,*} != "${orders#*,}" ]] || fail "it compares an order with itself: $json"
[[ $(field rounds) -ge 10 ]] || fail "fewer than 10 rounds: $json"
verdicts=$(grep -oP '"verdict":"\K(slower|faster|cannot tell|as fast within 2 %)(?=")' <<<"$json")
[[ $(wc -l <<<"$verdicts") == 2 ]] || fail "two layouts have a verdict each: $json"

"$stabctl" demo >"$work/text" 2>"$work/said" || fail "the text ends with $?"
interval='(\[.*, .*\]|\(no interval\))'
grep -qE "^  fixed .* % $interval" "$work/text" || fail "no line of fixed layouts: $(cat "$work/text")"
grep -qE "^  random .* % $interval" "$work/text" || fail "no line of random layouts: $(cat "$work/text")"
grep -q '^  layouts .*, 95 % intervals$' "$work/text" || fail "the level of the intervals is missing: $(cat "$work/text")"
# Its last sentence says no more than the two verdicts allow.
verdict_of() { sed -nE "s/^  $1 .* % $interval  //p" "$work/text"; }
case "$(verdict_of fixed)/$(verdict_of random)" in
  'as fast within 2 %'/*) conclusion='changes little, even in a single layout' ;;
  'cannot tell'/*) conclusion='too few runs to tell whether the order' ;;
  */'as fast within 2 %') conclusion='the difference disappears' ;;
  */'cannot tell') conclusion='too few runs to tell what happens' ;;
  slower/slower | faster/faster) conclusion='one link order is still faster than the other' ;;
  slower/faster | faster/slower) conclusion='the other link order is the faster one' ;;
  *) fail "no verdicts: $(cat "$work/text")" ;;
esac
tr '\n' ' ' <"$work/text" | grep -qF "$conclusion" || fail "it does not say '$conclusion': $(cat "$work/text")"
grep -q '^Next: stabctl ab ' "$work/text" || fail "it does not say what comes next"
longest=$(LC_ALL=C.UTF-8 wc -L <"$work/text")
[[ $longest -le 80 ]] || fail "a line has $longest columns"
grep -q 'about 20 seconds' "$work/said" || fail "it does not say how long it takes: $(cat "$work/said")"
[[ -z $(ls -A "$TMPDIR") ]] || fail "it leaves files: $(ls "$TMPDIR")"

# Without a compiler it says so.
mkdir "$work/bin"
cp "$stabctl" "$work/bin/"
said=$(PATH=/nowhere "$work/bin/stabctl" demo 2>&1) && fail "it succeeds without szc"
grep -q "demo: szc could not build the program.*'stabctl compiler list'" <<<"$said" || fail "without szc it says: $said"

# Without a folder for its files it says what to set.
said=$(TMPDIR=/nowhere "$stabctl" demo 2>&1) && fail "it succeeds without a folder"
grep -q 'demo: .*set TMPDIR to a folder' <<<"$said" || fail "without a folder it says: $said"

# A signal ends it, and is not taken for a failure of the build or of a run.
"$stabctl" demo >"$work/text" 2>"$work/said" &
demo=$!
for _ in {1..100}; do
  grep -q 'about 20 seconds' "$work/said" && break
  sleep 0.1
done
kill -TERM "$demo"
code=0
wait "$demo" || code=$?
[[ $code == 143 && $(tail -n 1 "$work/said") == "demo: interrupted" ]] || fail "after SIGTERM it ends with $code: $(cat "$work/said")"
[[ -z $(ls -A "$TMPDIR") ]] || fail "after SIGTERM it leaves files: $(ls "$TMPDIR")"
