#!/bin/bash
# SPDX-License-Identifier: MIT
# handler_test.sh SOURCE BUILD: the objects whose functions an epoch's signal handler calls, and all that these refer to, take
# nothing of libc's and nothing of the heap (Epochs 1). Not looked at: epoch.cc, which runs outside of handlers, too: there the type of
# outside_handlers.h keeps what waits or asks libc out of handlers.
set -u
source_directory=$(realpath "$1")
library=$2/lib/libstabrt.a

starts="alarms epoch_signal images image migrate one_epoch private_stack restart schedule signal_return walk"
# What takes the proof of in_handler.h is for handlers alone.
takers=$(nm -A -g -C --defined-only "$library" 2>/dev/null | sed -n 's/^[^:]*:\([^:]*\)\.cc\.o:.*InHandler const&.*/\1/p' | sort -u)
starts=$(printf '%s\n' $starts $takers | sort -u | xargs)
# Object NEEDS name: what no object of ours has. Object HAS: it was reached.
reached=$({
  nm -A -g --defined-only "$library" | awk '{ split($1, part, ":"); print "has", part[2], $NF }'
  nm -A -u "$library" | awk '{ split($1, part, ":"); print "needs", part[2], $NF }'
} 2>/dev/null | awk -v starts="$starts" '
  { sub(/\.cc\.o$/, "", $2) }
  $1 == "has" { home[$3] = $2 }
  $1 == "needs" { needs[$2] = needs[$2] " " $3 }
  END {
    n = split(starts, queue)
    for (i = 1; i <= n; ++i) seen[queue[i]] = 1
    for (i = 1; i <= n; ++i) {
      print "reached", queue[i]
      m = split(needs[queue[i]], names, " ")
      for (j = 1; j <= m; ++j)
        if (!(names[j] in home)) print queue[i], names[j]
        else if (!(home[names[j]] in seen)) { seen[home[names[j]]] = 1; queue[++n] = home[names[j]] }
    }
  }' | sort)
failures=0
fail() {
  echo "FAILED: $*"
  failures=1
}

objects=$(ar t "$library")
for start in $starts; do grep -qx "$start.cc.o" <<<"$objects" || fail "there is no $start.cc"; done
twice=$(ar t "$library" | sort | uniq -d)
[ -z "$twice" ] || fail "two objects of one name cannot be told apart: $twice"
# find_object and os ask at start only, contexts in calls of the program. The others are made by the linker.
expected="contexts dlsym
find_object dlsym
libraries _DYNAMIC
os getauxval
relink __start_stab_text
relink __stop_stab_text"
needed=$(grep -v '^reached ' <<<"$reached")
[ "$needed" = "$expected" ] || { fail "what the handler's objects need"; diff <(echo "$expected") <(echo "$needed"); }
mapfile -t of_heap < <(basename -s .cc -- "$1"/runtime/malloc/*/*.cc)
[ ${#of_heap[@]} -ge 15 ] || fail "only these are of the heap: ${of_heap[*]}"
heap=$(sed -n 's/^reached //p' <<<"$reached" | grep -xFf <(printf '%s\n' "${of_heap[@]}"))
[ -z "$heap" ] || fail "the handler's objects reach the heap: $heap"
for taker in migrate one_epoch threads; do grep -qx $taker <<<"$takers" || fail "$taker.cc takes no proof"; done
[ "$(grep -c '^reached ' <<<"$reached")" -ge 20 ] || fail "only these were looked at: $reached"

# compiles DECLARATION: a file that knows what waits for epochs and what an epoch does, with this in it.
compiles() {
  printf '#include "runtime/epoch/epoch.h"\n#include "runtime/epoch/one_epoch.h"\nnamespace stab::rt { %s }\n' "$*" |
    clang++-19 -std=c++20 -I"$source_directory" -fsyntax-only -x c++ - 2>diagnosis
}
cd "$(mktemp -d)" || exit 1
compiles 'struct BeforeSandbox { void f() { const NoEpochs guard(OutsideHandlers{}); } };' || fail "an entry point cannot wait: $(cat diagnosis)"
compiles 'struct Handler { void f() { const NoEpochs guard(OutsideHandlers{}); } };' && fail "anybody may wait for epochs"
grep -q 'private constructor' diagnosis || fail "another error: $(cat diagnosis)"
compiles 'struct EpochHandler { void f(ucontext_t& at) { one_epoch::run(InHandler{}, at); } };' || fail "the handler runs no epoch: $(cat diagnosis)"
compiles 'struct AtStartAndEnd { void f(ucontext_t& at) { one_epoch::run(InHandler{}, at); } };' && fail "anybody may run an epoch"
grep -q 'private constructor' diagnosis || fail "another error: $(cat diagnosis)"
rm -r "$PWD"
exit $failures
