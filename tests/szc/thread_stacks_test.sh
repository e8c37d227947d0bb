#!/bin/bash
# SPDX-License-Identifier: MIT
# thread_stacks_test.sh SOURCE BUILD: with stack=1 stacks are large enough for pads, the report says where they are not,
# first frames of all kinds of threads lie at random places, their loops take new pads, and pads of what may be on the stack
# many times are small.
set -u
. "$1/tests/lib.sh"
# run OPTIONS COMMAND...: with a report in $work/report.
run() {
  rm -f "$work/report"
  local options=$1
  shift
  STABILIZER_OPTIONS=$options:strict=1:report=$work/report timeout 300 "$@"
}

cat >"$work/sizes.c" <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
static void *own(void *unused) {
  pthread_attr_t attributes;
  void *start;
  size_t size;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &start, &size);
  pthread_attr_destroy(&attributes);
  printf(" %zu", size >> 10);
  return unused;
}
static int plain(void *unused) {
  own(unused);
  return 0;
}
int main(void) {
  pthread_t thread;
  thrd_t other;
  pthread_attr_t attributes;
  fflush(stdout);
  if (system("printf %s $(ulimit -Ss)") != 0) return 1;
  if (thrd_create(&other, plain, NULL) == thrd_success) thrd_join(other, NULL);
  if (pthread_create(&thread, NULL, own, NULL) == 0) pthread_join(thread, NULL);
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 65536);
  if (pthread_create(&thread, &attributes, own, NULL) == 0) pthread_join(thread, NULL);
  puts("");
  return 0;
}
C
"$szc" -O1 -pthread -o "$work/sizes" "$work/sizes.c" || fail "the program of sizes does not build"
# expect LIMITS OPTIONS SIZES: soft limit of a child, C11's thread, pthread's, one of 64 KB.
expect() {
  local got
  got=$(
    eval "$1"
    run "$2" "$work/sizes"
  )
  [ "$got" = "$3" ] || fail "$1, $2: $got, not $3"
}
[ "$(ulimit -Hs)" = unlimited ] || [ "$(ulimit -Hs)" -ge 65536 ] || skip_all "stacks may not be larger here"
expect 'ulimit -Ss 8192' code=1 '8192 8192 8192 64'
expect 'ulimit -Ss 8192' code=0:stack=1 '8192 65536 65536 640'
grep -q '"small_' "$work/report" && fail "small stacks that nobody has: $(cat "$work/report")"
expect 'ulimit -Ss 1024' stack=1 '1024 8320 8320 640'
expect 'ulimit -Ss 262144' stack=1 '262144 262144 262144 640'
expect 'ulimit -s 8192' stack=1 '8192 65536 65536 640'
grep -q '"small_stack": "the stack limit' "$work/report" || fail "the small limit is not reported: $(cat "$work/report")"
grep -q "\"pads_small_for\": \"the limit on the stack's size\"" "$work/report" || fail "pads are large on a stack that cannot grow: $(cat "$work/report")"
expect 'ulimit -Ss 4096; ulimit -Hs 16384' stack=1 '4096 32896 32896 640'
grep -q '"small_stack": "the stack limit' "$work/report" || fail "the hard limit is not reported: $(cat "$work/report")"
# A program may need nearly all of a small stack: there are no pads, and the first frame of main begins a little lower only.
cat >"$work/most.c" <<'C'
__attribute__((noinline)) static int use(int n) {
  volatile char most[70000];
  for (unsigned i = 0; i < sizeof most; i += 1000) most[i] = (char)n;
  return most[1000 * n] - n;
}
int main(int count, char **arguments) {
  (void)arguments;
  return use(count) != 0;
}
C
"$szc" -O1 -o "$work/most" "$work/most.c" || fail "the program of a small stack does not build"
# on_small OPTIONS: with 100 KB of stack, of which the environment takes nothing.
on_small() { (ulimit -s 100; exec -c env "STABILIZER_OPTIONS=stack=1:rerandomize=once:$1" "$work/most") 2>"$work/errors"; }
rm -f "$work/report"
for seed in {1..20}; do
  on_small "seed=$seed:report=$work/report" || fail "a small stack, seed $seed: status $?"
done
grep -q '"padded": 0.*"why_no_pads": "no stack frame has a pad, because the limit' "$work/report" || fail "no pads on a small stack are not reported: $(cat "$work/report")"
on_small strict=1
[ $? = 125 ] && grep -q 'strict=1: no stack frame has a pad, because the limit' "$work/errors" || fail "strict=1 without room for pads: $(cat "$work/errors")"
# mlockall pins larger stacks as a whole, though little of them is used: 56 MB more each where they were 8 MB. Of the main
# thread's, which grows as it is used, it is all but a little.
cat >"$work/pins.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
static long locked(void) {
  char line[256];
  long kilobytes = -1;
  FILE *file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) sscanf(line, "VmLck: %ld kB", &kilobytes);
  if (file != NULL) fclose(file);
  return kilobytes >> 10;
}
static void *of_thread(void *before) {
  printf(" %ld\n", locked() - *(long *)before);
  return before;
}
int main(void) {
  pthread_t thread;
  if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return 77;
  long before = locked();
  printf("%ld", before);
  return pthread_create(&thread, NULL, of_thread, &before) != 0 || pthread_join(thread, NULL) != 0;
}
C
"$szc" -O1 -pthread -o "$work/pins" "$work/pins.c" || fail "the pinning program does not build"
ulimit -Ss 8192
if run code=0:stack=0 "$work/pins" >"$work/without" && run code=0:stack=1 "$work/pins" >"$work/with"; then
  read -r main_without thread_without <"$work/without"
  read -r main_with thread_with <"$work/with"
  echo "locked: $main_without and $thread_without MB, with stack=1 $main_with and $thread_with MB"
  [ $((main_with - main_without)) -ge 60 ] && [ $((main_with - main_without)) -le 66 ] || fail "of the main stack $((main_with - main_without)) MB are pinned, not 63 (doc/runtime.md, doc/limits.md)"
  [ $((thread_with - thread_without)) -ge 54 ] && [ $((thread_with - thread_without)) -le 58 ] || fail "of a thread's stack $((thread_with - thread_without)) MB more are pinned, not 56 (doc/runtime.md, doc/limits.md)"
else
  skipped "memory cannot be pinned here"
fi
# Where the address space is limited, threads have what the program gives them.
expect "ulimit -Ss 8192; ulimit -v 60000" stack=1 '65536 8192 8192 64'
grep -q '"small_thread_stacks": 3}' "$work/report" || fail "small stacks of threads are not reported: $(cat "$work/report")"
grep -q '"small_stack": "the address space' "$work/report" || fail "the limited address space is not reported: $(cat "$work/report")"

cat >"$work/room.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_barrier_t barrier;
static void *wait(void *unused) {
  pthread_barrier_wait(&barrier);
  return unused;
}
// So many KB deep.
__attribute__((noinline)) static int deep(int n) {
  volatile char frame[1000];
  frame[n & 511] = 1;
  return n == 0 ? 0 : deep(n - 1) + frame[n & 511];
}
int main(int count, char **arguments) {
  (void)count;
  const int threads = atoi(arguments[1]), depth = atoi(arguments[2]);
  pthread_t made[64];
  pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
  for (int i = 0; i < threads; ++i)
    if (pthread_create(&made[i], NULL, wait, NULL) != 0) return printf("no thread %d\n", i), 1;
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < threads; ++i) pthread_join(made[i], NULL);
  return printf("%d\n", deep(depth)) < 0;
}
C
"$szc" -O1 -pthread -o "$work/room" "$work/room.c" || fail "the program of many stacks does not build"
# As many threads as the room is for, all of a large stack without a larger limit, and the whole of it after fork and exec.
[ "$(ulimit -Ss 8192; ulimit -v 300000; run stack=1 "$work/room" 24 100)" = 100 ] || fail "fewer threads with larger stacks"
[ "$(ulimit -Ss 8192; ulimit -v 300000; run stack=1 "$work/room" 1 40000)" = 40000 ] || fail "the stack does not grow beyond its limit where the address space has one"
[ "$(ulimit -Ss 8192; run stack=1 "$work/room" 1 50000)" = 50000 ] || fail "the stack does not grow beyond its limit"
[ "$(ulimit -Ss 4096; ulimit -Hs 16384; run stack=1 "$work/room" 1 10000)" = 10000 ] || fail "the stack does not grow to its hard limit"
[ "$(ulimit -Ss 8192; run stack=1 env A="$(printf '%*s' 100000 '')" "$work/room" 1 50000)" = 50000 ] || fail "the stack does not grow beyond its limit and a large environment"

# A thread that cannot be made for a while, whatever the reason, does not leave later threads with small stacks.
cat >"$work/again.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
static void *nothing(void *given) {
  pthread_attr_t own;
  size_t size = 0;
  pthread_getattr_np(pthread_self(), &own);
  pthread_attr_getstacksize(&own, &size);
  *(size_t *)given = size;
  return NULL;
}
static size_t size_of_next(void) {
  pthread_t thread;
  size_t size = 0;
  if (pthread_create(&thread, NULL, nothing, &size) == 0) pthread_join(thread, NULL);
  return size;
}
static void without(int what, rlim_t most) {
  struct rlimit before, none;
  getrlimit(what, &before);
  none = before;
  none.rlim_cur = most;
  setrlimit(what, &none);
  size_of_next();
  setrlimit(what, &before);
}
int main(void) {
  if (getuid() == 0 && setuid(65534) != 0) return 1;
  const size_t first = size_of_next();
  without(RLIMIT_NPROC, 0);
  const size_t second = size_of_next();
  without(RLIMIT_AS, 1 << 20);
  puts(first > 0 && second == first && size_of_next() == first ? "as before" : "smaller");
}
C
"$szc" -O1 -pthread -o "$work/again" "$work/again.c" || fail "the program of failing threads does not build"
chmod 711 "$work" # another user runs it
[ "$(ulimit -Ss 8192; run stack=1 "$work/again")" = "as before" ] || fail "a thread that cannot be made makes the stacks of later ones smaller"

cat >"$work/threads.cc" <<'C'
#include <pthread.h>
#include <threads.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <set>
#include <thread>
static std::set<std::uintptr_t> places;
__attribute__((noinline)) static void leaf() {
  places.insert(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) & 4095);
}
static void end(const char* name, std::size_t wanted) {
  std::printf("%s: %s\n", name, places.size() >= wanted ? "many" : "few");
  places.clear();
}
// Until there were so many places, for 20 s at most.
#define LOOP(wanted)                                           \
  for (const clock_t last = clock() + 20 * CLOCKS_PER_SEC;     \
       places.size() < (wanted) && clock() < last;) leaf()
static void* by_pthread(void* unused) { LOOP(20); return unused; }
static int by_c11(void*) { LOOP(20); return 0; }
static void* first(void* unused) { leaf(); return unused; }
static int first_c11(void*) { leaf(); return 0; }
int main() {
  pthread_t thread;
  thrd_t plain;
  for (int i = 0; i < 60; ++i) { pthread_create(&thread, nullptr, first, nullptr); pthread_join(thread, nullptr); }
  end("first frames", 20);
  for (int i = 0; i < 60; ++i) { thrd_create(&plain, first_c11, nullptr); thrd_join(plain, nullptr); }
  end("first frames of C11", 20);
  pthread_create(&thread, nullptr, by_pthread, nullptr);
  pthread_join(thread, nullptr);
  end("pthread_create", 20);
  thrd_create(&plain, by_c11, nullptr);
  thrd_join(plain, nullptr);
  end("thrd_create", 20);
  std::thread([] { LOOP(20); }).join();
  end("std::thread", 20);
}
C
"$szc++" -O2 -pthread -o "$work/threads" "$work/threads.cc" || fail "the program of threads does not build"
run code=0:stack=1:seed=3:budget=off:period=1ms "$work/threads" >"$work/out" || fail "threads end with $?"
[ "$(grep -c ': many' "$work/out")" = 5 ] || fail "$(cat "$work/out")"

# What may come back by a pointer: `visit` reaches itself by `call`; `once` is of that type, but reaches nobody.
cat >"$work/recursion.c" <<'C'
typedef int visitor(int);
int printf(const char *, ...);
static visitor *volatile next;
__attribute__((noinline)) static int call(int n) { return next(n) + 1; }
__attribute__((noinline)) static int visit(int n) { return n == 0 ? 0 : call(n - 1) * 1; }
__attribute__((noinline)) static int once(int n) { return printf("%d\n", n) + n; }
__attribute__((noinline)) static int other(long n) { return once((int)n) + 1; }
static int (*volatile others)(long) = other;
int main(void) {
  next = once;
  next(1);
  next = visit;
  return call(100) + others(2) < 0;
}
C
for flags in -O0 "-O2 -fno-optimize-sibling-calls" "-O2 -fno-optimize-sibling-calls -flto" "-O2 -fno-optimize-sibling-calls -flto=thin" "-O1 -fno-pie -no-pie"; do
  $szc $flags -o "$work/recursion" "$work/recursion.c" || fail "$flags does not build"
  "$szc" --stab-explain "$work/recursion" >"$work/explained"
  readelf -SW "$work/recursion" | grep -q szc_calls && fail "$flags: the records are left in the program"
  for wanted in "call 112" "once 4080" "other 4080" "main 4080"; do
    grep -q " ${wanted% *}: pads of up to ${wanted#* } bytes" "$work/explained" || fail "$flags: not $wanted: $(grep " ${wanted% *}:" "$work/explained")"
  done
done
finish
