#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The page of `stabctl watch --web` in a real browser: it updates itself, leaves open what is open, stays where it is, and
# says when nobody answers any more.
set -euo pipefail
. "$1/tests/lib.sh"
browser='' daemon='' watch=''
at_end() {
  for process in $browser $watch $daemon; do kill "$process" 2>/dev/null && wait "$process" 2>/dev/null || true; done
}
fail() {
  echo "FAILED: $*"
  tail -n 5 "$work"/{watch,browser} 2>/dev/null
  exit 1
}
stabctl() { "$build_directory/bin/stabctl" --socket "$work/s.sock" "$@"; }

cat >"$work/plan.toml" <<'END'
[experiment]
name = "<i>live</i>"
[[benchmark]]
name = "b"
repetitions = 100000
run = ["sleep", "${S}"]
[factor.s]
levels = { few = { S = "0.02" }, many = { S = "0.04" } }
END
: >"$work/stabd.toml"
mkfifo "$work/ready" "$work/to" "$work/from"
"$build_directory/bin/stabd" --config "$work/stabd.toml" --state "$work/state" --socket "$work/s.sock" \
  --cache "$work/cache" --ready-fd 5 5<>"$work/ready" 2>"$work/log" &
daemon=$!
read -r -t 60 <"$work/ready" || fail "stabd did not begin: $(cat "$work/log")"
stabctl submit "$work/plan.toml" >/dev/null

# Sets url and watch.
begin_watch() {
  : >"$work/watch"
  "$build_directory/bin/stabctl" --socket "$work/s.sock" watch --web 1 >"$work/watch" 2>&1 &
  watch=$!
  for _ in {1..300}; do
    url=$(grep -o 'http://[^ ]*/$' "$work/watch" || true)
    [[ -z $url ]] || return 0
    sleep 0.1
  done
  fail "no address was printed"
}

# The browser's own protocol, over two pipes: messages end with a byte of zero.
exec 6<>"$work/to" 7<>"$work/from"
chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --disable-background-networking \
  --disable-component-update --remote-debugging-pipe --user-data-dir="$work/profile" \
  3<&6 4>&7 2>"$work/browser" >/dev/null &
browser=$!
number=0 session='' events=''
ask() { # ask METHOD PARAMETERS: sets answer
  number=$((number + 1))
  printf '{"id":%d,"method":"%s","params":%s%s}\0' $number "$1" "$2" "$session" >&6
  while IFS= read -r -d '' -t 100 answer <&7; do
    [[ $answer != "{\"id\":$number,"* ]] || return 0
    events+=$answer$'\n'
  done
  fail "the browser does not answer to $1"
}
field() { sed -nE "s/.*\"$1\":\"([^\"]*)\".*/\1/p" <<<"$answer"; }
open_page() {
  session=''
  ask Target.createTarget "{\"url\":\"$url\"}"
  ask Target.attachToTarget "{\"targetId\":\"$(field targetId)\",\"flatten\":true}"
  session=",\"sessionId\":\"$(field sessionId)\""
  ask Runtime.enable '{}'
  ask Log.enable '{}'
}
value() { # of an expression without double quotes, as text
  ask Runtime.evaluate "{\"expression\":\"String($1)\",\"returnByValue\":true}"
  field value
}
until_it_is() { # until_it_is EXPRESSION WORDS; a page may ask once a minute where reports take long
  local got=
  for _ in {1..2400}; do
    got=$(value "$1")
    [[ $got != "$2" ]] || return 0
    sleep 0.2
  done
  fail "$1 is '$got' and not '$2'"
}

begin_watch
open_page
live="document.getElementById('live')"
until_it_is "document.querySelectorAll('svg').length > 2" true
until_it_is "/^[0-9]+ %: experiment 1 - stabd$/.test(document.title)" true
# The last one is far from the top, and that far the page is scrolled. What is above the report may take another line of
# text meanwhile: both heights are of one moment.
value "(all => { all[1].open = true; all[all.length - 1].open = true; scrollTo(0, 700); })([...document.querySelectorAll('details')])" >/dev/null
heights=$(value "scrollY + ' ' + $live.offsetHeight")
place=$((${heights% *} - ${heights#* }))
((${heights% *} >= 700)) || fail "the page does not scroll: $heights"
before=$(value "Number($live.dataset.report)")
until_it_is "Number($live.dataset.report) > $before + 1" true
[[ $(value "document.querySelectorAll('details[open]').length") == 2 ]] || fail "what was open is not"
[[ $(value "[...document.querySelectorAll('details')].pop().open") == true ]] || fail "another one is open"
until_it_is "scrollY - $live.offsetHeight" "$place"
# It stays there, too, if the progress takes more lines, or fewer, when the page replaces only that, as it does while text is
# selected. Nobody scrolls after the last whole replacement: a browser that scrolled would keep the place by itself.
for change in "insertAdjacentHTML('beforeend', '<p>line</p>'.repeat(3))" "querySelector('dl').remove()"; do
  before=$(value "Number($live.dataset.report)")
  until_it_is "Number($live.dataset.report) > $before" true
  place=$(value "(live => { live.$change; live.dataset.changed = 1; getSelection().selectAllChildren(document.querySelector('h1')); return scrollY - live.offsetHeight; })($live)")
  until_it_is "$live.dataset.changed" undefined
  [[ $(value "scrollY - $live.offsetHeight") == "$place" ]] || fail "the page has moved after $change"
  value "getSelection().removeAllRanges()" >/dev/null
done
[[ $(value "document.querySelector('h1').textContent") == "<i>live</i> (experiment 1)" ]] || fail "the name is no text"
[[ $(value "$live.querySelector('.gone').hidden") == true ]] || fail "it says that nobody answers"
# A second script has no part in it.
value "(each => { each.textContent = 'document.title = 1'; document.head.append(each); })(document.createElement('script'))" >/dev/null
[[ $(value document.title) != 1 ]] || fail "a foreign script was run"
[[ $events == *"Content Security Policy"* ]] || fail "the policy stopped nothing: $events"
events=''

# An answer that is lost is asked for again.
value "(real => { let lost = 2; window.fetch = (...all) => (lost -= 1) >= 0 ? Promise.reject(new Error()) : real(...all); window.lost = () => lost; })(fetch)" >/dev/null
until_it_is "window.lost() < 0" true
[[ $(value "$live.querySelector('.gone').hidden") == true ]] || fail "it gave up after two answers that were lost"
before=$(value "Number($live.dataset.report)")
until_it_is "Number($live.dataset.report) > $before" true

# Without stabctl the page keeps what it has.
kill -INT "$watch"
wait "$watch" || [[ $? == 130 ]] || fail "it exited with $?"
watch=''
until_it_is "$live.querySelector('.gone').hidden" false
[[ $(value "document.querySelectorAll('svg').length > 2") == true ]] || fail "the report has gone"

# And the last report ends the asking, and stabctl.
begin_watch
open_page
events=''
until_it_is "document.querySelectorAll('svg').length > 2" true
stabctl cancel 1 >/dev/null
until_it_is "$live.dataset.final" yes
[[ $(value document.title) == "cancelled: experiment 1 - stabd" ]] || fail "its title is $(value document.title)"
wait "$watch" || [[ $? == 5 ]] || fail "it exited with $?"
watch=''
[[ $(value "$live.querySelector('.gone').hidden") == true ]] || fail "the last page says that nobody answers"
# Chromium asks each server for an icon, which there is not.
complaints=$(grep -E '"method":"(Runtime.exceptionThrown|Log.entryAdded|Runtime.consoleAPICalled)"' <<<"$events" | grep -v favicon.ico || true)
[[ -z $complaints ]] || fail "the browser complains: $complaints"
