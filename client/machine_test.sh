#!/bin/bash
# SPDX-License-Identifier: MIT
# machine_test.sh SOURCE BUILD: stabctl doctor and quiesce, over a folder that stands for a machine.
set -u
. "$1/tests/lib.sh"
expect() { [[ $2 == *"$3"* ]] || fail "$1: no '$3' in: $2"; }
put() { mkdir -p "$(dirname "$work$1")" && echo "$2" >"$work$1"; }
holds() { [ "$(head -1 "$work$1")" = "$2" ] || fail "$3: $1 holds $(head -1 "$work$1"), not $2"; }

swappiness=/proc/sys/vm/swappiness watchdog=/proc/sys/kernel/nmi_watchdog
put /proc/sys/kernel/random/boot_id 4b1c
put $swappiness 60
put $watchdog 1

out=$("$stabctl" doctor --root "$work") || fail "doctor ends with $?"
expect doctor "$out" "This machine is "
sudo=sudo\ ; [ "$(id -u)" != 0 ] || sudo=
expect doctor "$out" "echo 0 | ${sudo}tee $swappiness"
json=$("$stabctl" doctor --root "$work" --json)
expect "doctor --json" "$json" '"name": "swappiness"'
holds $swappiness 60 "doctor changes nothing"

# doctor says which parts of a program can be random. For a static program it says why none can, and the grade of the machine stays.
printf 'int main(void) { return 0; }\n' >"$work/p.c"
"$szc" --stab-quiet -static "$work/p.c" -o "$work/static" && "$szc" --stab-quiet -static-pie "$work/p.c" -o "$work/static_pie" &&
  "$szc" "$work/p.c" -o "$work/moves" && "$szc" --stab-off "$work/p.c" -o "$work/plain" || fail "szc ends with $?"
for program in static static_pie; do
  out=$("$stabctl" doctor --root "$work" "$work/$program") || fail "doctor $program ends with $?"
  expect "doctor $program" "$out" "fair  program             $work/$program: the program is linked statically, and szc's runtime needs"
done
out=$("$stabctl" doctor --root "$work" "$work/plain" "$work/moves") || fail "doctor plain ends with $?"
expect "doctor plain" "$out" "fair  program             $work/plain: szc did not build the program"
expect "doctor moves" "$out" "good  program             $work/moves: szc built the program"
# A program in the state in which patchelf leaves it: the note has moved, and other bytes are in its place.
note=$((16#$(readelf -SW "$work/moves" | sed -n 's/.* .note.stab  *[A-Z]* *[0-9a-f]* \([0-9a-f]*\) .*/\1/p')))
cp "$work/moves" "$work/rewritten" && printf 'X%.0s' {1..48} | dd of="$work/rewritten" bs=1 seek="$note" conv=notrunc status=none
cp "$work/moves" "$work/moved" && printf '\x01' | dd of="$work/moved" bs=1 seek=$((note + 24)) conv=notrunc status=none
for program in rewritten moved; do
  expect "doctor $program" "$("$stabctl" doctor --root "$work" "$work/$program")" "fair  program             $work/$program: a tool such as patchelf has rewritten the program since szc linked it"
done
[ "$("$stabctl" doctor --root "$work" | head -1)" = "$(head -1 <<<"$out")" ] || fail "a program changes the machine's grade"
json=$("$stabctl" doctor --root "$work" --json "$work/static")
expect "doctor --json" "$json" '"name": "program"'
out=$("$stabctl" doctor --root "$work" "$work/nothing" 2>&1) && fail "doctor of no program ends with 0"
expect "doctor of no program" "$out" "cannot find the program"

out=$("$stabctl" quiet status --root "$work") || fail "status ends with $?"
expect status "$out" "$swappiness: 60 (the quiet value is 0)"
expect status "$out" "absent    governor"
expect "what a knob needs" "$out" "needs root privileges; the machine must have a cpufreq driver"
out=$("$stabctl" quiet status --root "$work" --json --knobs swappiness,governor) || fail "status --json ends with $?"
expect "status --json" "$out" '"needs": "root privileges; the machine must have a cpufreq driver'
expect "status --json" "$out" '"needs": "root privileges"'

out=$("$stabctl" quiet apply --root "$work") || fail "apply ends with $?"
expect apply "$out" "$swappiness: 60 -> 0"
holds $swappiness 0 apply
holds $watchdog 0 apply
put $watchdog 2
out=$("$stabctl" quiet restore --root "$work") || fail "restore ends with $?"
expect restore "$out" "$swappiness: 60"
expect restore "$out" "another program has since changed the value to 2"
holds $swappiness 60 restore
holds $watchdog 2 restore
expect "a second restore" "$("$stabctl" quiet restore --root "$work")" "there is nothing to put back"

# One knob, and names that are none.
put $watchdog 1
"$stabctl" quiet apply --root "$work" --knobs nmi_watchdog --json >"$work/json" || fail "apply --knobs ends with $?"
expect "apply --json" "$(cat "$work/json")" '"outcome": "changed"'
holds $watchdog 0 "apply --knobs"
holds $swappiness 60 "apply --knobs"
"$stabctl" quiet restore --root "$work" >/dev/null
out=$("$stabctl" quiet apply --root "$work" --knobs swapiness 2>&1) && fail "a wrong name is taken"
expect "a wrong name" "$out" "did you mean swappiness?"

# All or nothing.
mv "$work$swappiness" "$work/elsewhere" && ln -s "$work/elsewhere" "$work$swappiness"
out=$("$stabctl" quiet apply --root "$work" --strict 2>&1) && fail "--strict ends with 0"
expect --strict "$out" "all settings are as they were before"
holds $watchdog 1 --strict
"$stabctl" quiet apply --root "$work" --knobs nmi_watchdog >/dev/null || fail "apply ends with $?"
"$stabctl" quiet apply --root "$work" --strict >/dev/null 2>&1 && fail "--strict ends with 0"
holds $watchdog 0 "--strict after an apply"
"$stabctl" quiet restore --root "$work" >/dev/null || fail "restore ends with $?"
holds $watchdog 1 "restore after both"
out=$("$stabctl" quiet apply --root "$work") || fail "without --strict it ends with $?"
expect "what refuses" "$out" "refused   swappiness"
holds $watchdog 0 "without --strict"
"$stabctl" quiet restore --root "$work" >/dev/null || fail "restore ends with $?"
holds $watchdog 1 "at the end"

"$stabctl" quiet 2>/dev/null && fail "quiesce without a verb ends with 0"
finish
