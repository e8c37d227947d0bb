#!/bin/bash
# SPDX-License-Identifier: MIT
# szc_privileges_test.sh SOURCE BUILD: a program with more rights than its caller takes no orders from the caller, and files
# are not written where somebody else has planted a link.
set -u
szc=${SZC:-$2/bin/szc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
chmod 755 .
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}
nobody=65534
as_nobody() { setpriv --reuid $nobody --regid $nobody --clear-groups "$@"; }

cat >secure.c <<'C'
#include <stdio.h>
#include <sys/auxv.h>
int main(void) { return printf("%s\n", getauxval(AT_SECURE) ? "more rights" : "works") < 0; }
C
$szc -O1 secure.c -o secure || exit 1

# A report is appended to a file, or to where a link of one's own leads; a new one is made.
report() { STABILIZER_OPTIONS=seed=1:report=$1 "${@:2}" ./secure; }
report new >output && report new >output
[ "$(grep -c '"event": "exit"' new)" = 2 ] || fail "two runs, not two reports"
: >behind && ln -s behind own && report own >output
grep -q '"event": "exit"' behind || fail "a link of one's own is not followed"
report /dev/stderr 2>errors >output
grep -q '"event": "exit"' errors || fail "no report on standard error"
ln -s absent dangling && report dangling >output
[ ! -e absent ] || fail "a file was made behind a link"

# A map for perf is always a new file.
perf_map() { "$@" sh -c 'ln -s "$0" /tmp/perf-$$.map; echo $$ >&2; STABILIZER_OPTIONS=perf_map=1 exec ./secure' "$work/target" 2>pid >output; }
echo untouched >target
perf_map
map=/tmp/perf-$(cat pid).map
[ ! -L "$map" ] && grep -q ' main$' "$map" || fail "no map for perf in place of the link: $(ls -l "$map")"
rm -f "$map"
[ "$(cat target)" = untouched ] || fail "the map was written through a link"

if [ "$(id -u)" != 0 ] || ! as_nobody true 2>/dev/null; then
  [ $failures = 0 ] && echo "as expected; skipped what only root can try"
  exit $failures
fi

# Another user's links are not followed, root's are.
: >open && chmod 666 open && ln -s open planted && chown -h $nobody planted && report planted >output
[ ! -s open ] || fail "a planted link was followed"
[ "$(cat output)" = works ] || fail "the program did not work: $(cat output)"
chmod 666 behind && : >behind && report own as_nobody >output
grep -q '"event": "exit"' behind || fail "root's link is not followed"

# A caller of a setuid program writes where only its owner may; a variable that ld.so removes must not change that.
mkdir -m 700 private
cp secure raised && chmod 4755 raised
raised() {
  rm -f private/report
  as_nobody env "$@" STABILIZER_OPTIONS=strict=1:verbose=1:code=1:heap=1:report=$work/private/report ./raised >output 2>errors
}
raised A=1
if [ "$(cat output)" = works ]; then
  echo "skipped: setuid has no effect in $work"
else
  for variables in A=1 LD_LIBRARY_PATH=/x "LD_LIBRARY_PATH=/x LD_PRELOAD=/x LD_DEBUG=all" "LD_AUDIT=/x TMPDIR=/x"; do
    raised $variables
    [ "$(cat output)" = "more rights" ] || fail "setuid with $variables: $(cat output)"
    [ ! -e private/report ] || fail "setuid with $variables: the caller's report was written"
    [ ! -s errors ] || fail "setuid with $variables: the caller's options were read: $(cat errors)"
    as_nobody env $variables STABILIZER_OPTIONS=help=1 ./raised | grep -q 'more rights' || fail "setuid with $variables: help=1 was obeyed"
  done
fi
[ $failures = 0 ] && echo "all as expected"
[ $failures = 0 ]
