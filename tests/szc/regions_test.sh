#!/bin/bash
# SPDX-License-Identifier: MIT
# regions_test.sh SOURCE BUILD: what stabilizer.h promises about regions and about new layouts on request, by programs
# that szc built from C and C++, in what the runtime reports.
set -u
. "$1/tests/lib.sh"
cd "$work" || exit 1

programs=$source_directory/tests/programs
include=-I$build_directory/include

# field NAME KEY: of the line of a region.
field() { grep '"event": "region"' report | grep "\"name\": \"$1\"" | sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p"; }
# entered NAME TIMES
entered() { [ "$(field "$1" count)" = "$2" ] || fail "$kind: $1 was entered $(field "$1" count) times, not $2"; }

check() {
  [ "$(wc -l <output)" = 1 ] || fail "$kind: it printed $(cat output)"
  entered nested 2
  entered other-one 1
  entered handler 2
  for thread in 0 1 2 3; do entered thread_$thread 1000; done
  [ "$(field all count)" -ge 1 ] && [ "$(field all count)" -le 4000 ] || fail "$kind: all: $(field all count)"
  [ "$(field nested ns)" -ge 40000000 ] || fail "$kind: nested took $(field nested ns) ns"
  [ "$(field other-one ns)" -ge 40000000 ] || fail "$kind: other-one took $(field other-one ns) ns"
  local run
  run=$(sed -n 's/.*"event": "exit".*"run_ns": \([0-9]*\).*/\1/p' report)
  for region in nested other-one all thread_0; do
    [ "$(field $region ns)" -le "$run" ] || fail "$kind: $region took longer than all of the program"
  done
  # What the child did, and what was never begun.
  grep -q '"name": "child"\|never.begun' report && fail "$kind: $(grep 'child\|never' report)"
  # 8 names before, and one without a name.
  [ "$(grep -c '"event": "region"' report)" = 64 ] || fail "$kind: $(grep -c '"event": "region"' report) regions"
  grep '"event": "exit"' report | grep -q '"regions_refused": 5[,}]' || fail "$kind: $(grep exit report)"
  [ "$(grep '"open": 1' report | grep -o '"name": "[^"]*"')" = '"name": "nested"' ] || fail "$kind: $(grep open report)"
  grep '"event": "exit"' report | grep -q region_open && fail "$kind: a region without a name is open"
  tail -1 report | grep -q '"event": "exit"' || fail "$kind: the last line is $(tail -1 report)"
}

for options in seed=1 seed=2:period=1ms:budget=off:stack=1:heap=1 code=0; do
  kind=$options
  [ -e regions ] || $szc -O2 -pthread "$include" "$programs/regions.c" -o regions || exit 1
  rm -f report
  STABILIZER_OPTIONS=$options:report=report ./regions >output || fail "$kind: status $?"
  check
done

kind=C++
"$szc++" -O2 "$include" "$programs/regions.cpp" -o scopes || exit 1
rm -f report
[ "$(STABILIZER_OPTIONS=seed=1:report=report ./scopes)" = 5 ] || fail "exceptions through regions"
entered risky 10
entered Parser.all 1
[ "$(field Parser.all ns)" -ge "$(field risky ns)" ] || fail "C++: $(cat report)"

# Of another compiler, with no runtime: they do nothing.
$clang -O1 -pthread "$include" "$programs/regions.c" -o plain && [ "$(./plain)" = 0 ] || fail "regions without szc"
"${clang/clang/clang++}" -O1 "$include" "$programs/regions.cpp" -o plain && [ "$(./plain)" = 5 ] || fail "C++ without szc"

# A shared library's are the program's.
cat >part.c <<'EOF'
#include "stabilizer.h"
void part(void) { STAB_BEGIN_REGION("both"); STAB_END_REGION("both"); }
EOF
cat >whole.c <<'EOF'
#include "stabilizer.h"
void part(void);
int main(void) { part(); STAB_BEGIN_REGION("both"); STAB_END_REGION("both"); STAB_BEGIN(); return 0; }
EOF
kind=library
$szc "$include" -O1 -fPIC -shared part.c -o part.so && $szc "$include" -O1 whole.c ./part.so -o whole || exit 1
rm -f report
STABILIZER_OPTIONS=seed=1:report=report ./whole || fail "a library with regions"
entered both 2
grep '"event": "exit"' report | grep '"regions": 1' | grep -q '"region_open": 1' || fail "the open region: $(cat report)"

# Each request gives a new layout, however soon after the last one. With one layout for the whole run it does nothing.
cat >requests.c <<'EOF'
#include "stabilizer.h"
int main(void) { for (int i = 0; i < 50; ++i) stab_randomize_now(); return 0; }
EOF
kind=requests
$szc "$include" -O1 requests.c -o requests || exit 1
while read -r options layouts; do
  rm -f report
  STABILIZER_OPTIONS=seed=1:report=report:$options ./requests || fail "requests, $options"
  got=$(sed -n 's/.*"event": "exit".*"epochs": \([0-9]*\).*/\1/p' report)
  [ "${got:-0}" -ge "$layouts" ] && { [ "$layouts" != 1 ] || [ "$got" = 1 ]; } || fail "requests, $options: ${got:-no} layouts"
done <<'EOF'
period=500ms 51
rerandomize=once 1
EOF

# A request that comes while another thread forks makes no new layout, and the report counts it.
cat >refused.c <<'EOF'
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "stabilizer.h"
enum { SIZE = 64 << 20 };
static int forks, stop;
static void *fork_all_the_time(void *unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child < 0 || waitpid(child, NULL, 0) != child) _exit(1);
    __atomic_fetch_add(&forks, 1, __ATOMIC_ACQ_REL);
  }
  return unused;
}
int main(void) {
  /* So many small pages make each fork take long. */
  char *pages = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return 2;
  madvise(pages, SIZE, MADV_NOHUGEPAGE);
  memset(pages, 1, SIZE);
  pthread_t thread;
  if (pthread_create(&thread, NULL, fork_all_the_time, NULL) != 0) return 3;
  while (__atomic_load_n(&forks, __ATOMIC_ACQUIRE) == 0) {}
  for (int i = 0; i < 200; ++i) stab_randomize_now();
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  return pthread_join(thread, NULL);
}
EOF
kind=refused
$szc "$include" -O1 -pthread refused.c -o refused || exit 1
rm -f report
STABILIZER_OPTIONS=seed=1:report=report:period=1000s timeout 60 ./refused || fail "requests during forks end with $?"
count() { sed -n "s/.*\"event\": \"exit\".*\"$1\": \([0-9]*\).*/\1/p" report; }
[ $(($(count epochs) + $(count given_up))) -ge 201 ] || fail "requests during forks: $(cat report)"
finish
