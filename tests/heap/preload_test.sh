#!/bin/bash
# SPDX-License-Identifier: MIT
# preload_test.sh SOURCE BUILD: libstabheap.so under programs that szc did not link, and the heap of those that it did:
# every allocator, limits on memory, a malloc of the program's own, children, and what the report says.
set -u
. "$1/tests/lib.sh"
. "$1/tests/allocators.sh"
library=$build_directory/lib/libstabheap.so
cd "$work" || exit 1
field() { sed -n "s/.*\"$1\": \"\{0,1\}\([^\",}]*\).*/\1/p" report | tail -1; }
unset STABILIZER_OPTIONS LD_PRELOAD

# under OPTIONS COMMAND...: with the library.
under() { timeout 300 env "STABILIZER_OPTIONS=$1" "LD_PRELOAD=$library" "${@:2}"; }

clang-22 -O2 -w -o plain "$source_directory/tests/programs/heap_family.c" || exit 1
"$szc" -O2 -w -o ours "$source_directory/tests/programs/heap_family.c" || exit 1
expected=$(./plain)
[ "$expected" = $'0 failures\nbefore main' ] || fail "libc's own heap: $expected"
for allocator in "${allocators[@]}"; do
  for seed in 1 2; do
    [ "$(under "allocator=$allocator:seed=$seed" ./plain)" = "$expected" ] || fail "preloaded, $allocator, seed $seed"
    [ "$(STABILIZER_OPTIONS=heap=1:allocator=$allocator:seed=$seed ./ours)" = "$expected" ] || fail "linked, $allocator, seed $seed"
  done
done

# Without PIE the address of malloc that a program uses is that of a jump of its own.
cat >takes.c <<'END'
#include <stdlib.h>
__attribute__((noinline)) static int calls(void *(*by)(size_t), void (*back)(void *)) {
  void *block = by(3);
  back(block);
  return block == NULL;
}
#ifdef OWN
static char memory[1 << 20];
static size_t used;
void *malloc(size_t size) { void *block = memory + used; used += (size + 31) / 16 * 16; return block; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *block, size_t size) { (void)block; return malloc(size); }
void free(void *block) { (void)block; }
#endif
int main(void) { return calls(malloc, free); }
END
for how in "-fno-pie -no-pie on" "-fPIE -pie on" "-fno-pie -no-pie -DOWN -rdynamic off" "-DOWN -rdynamic off"; do
  clang-22 -O2 -fno-builtin -w ${how% *} takes.c -o takes || exit 1
  rm -f report
  under report=report ./takes || fail "takes ${how% *} ends with $?"
  [ "$(sed -n 's/.*"event": "start".*"heap": "\([a-z]*\)".*/\1/p' report)" = "${how##* }" ] || fail "takes ${how% *}: $(cat report)"
done

# The first blocks that are freed are messages of dlsym's failures, inside of dlsym.
cat >unfound.c <<'END'
#include <dlfcn.h>
#include <stddef.h>
int main(void) {
  for (int i = 0; i < 3; ++i)
    if (dlsym(NULL, "there is no such name") != NULL) return 1;
  return dlerror() == NULL;
}
END
clang-22 -o unfound unfound.c && "$szc" -o unfound_ours unfound.c || exit 1
for allocator in "${allocators[@]}"; do
  under "allocator=$allocator" ./unfound || fail "preloaded, $allocator: dlsym that finds nothing"
  STABILIZER_OPTIONS=heap=1:allocator=$allocator ./unfound_ours || fail "linked, $allocator: dlsym that finds nothing"
done

# Programs of others, with their children.
echo 'create table t(a integer primary key, b text); with recursive n(i) as (select 1 union all select i+1 from n where i<20000)
  insert into t select i, hex(i*7919) from n; create index b on t(b); select count(*), max(b) from t; ' >small.sql
others=("bash -c 'for i in {1..200}; do x=\$(echo \$i | tr 0-9 a-j); echo \$x; done | sort | md5sum'" "clang-22 -O1 -w -S -o - $source_directory/tests/programs/heap_family.c")
command -v sqlite3 >/dev/null && others+=("sqlite3 :memory: '.read small.sql'") || skipped "no sqlite3 here"
git -C "$source_directory" log -1 >/dev/null 2>&1 && others+=("git -C $source_directory log --stat -20") || skipped "no git, or no repository"
for command in "${others[@]}"; do
  expected=$(timeout 300 bash -c "$command" 2>&1)
  for allocator in "${allocators[@]}"; do
    [ "$(under "allocator=$allocator:seed=3" bash -c "$command" 2>&1)" = "$expected" ] || fail "$allocator: $command"
  done
done

# The report.
rm -f report
under "seed=5:report=report" ./plain >/dev/null
[ "$(field heap)" = on ] && [ "$(field allocator)" = shuffled ] && [ "$(field seed)" = 5 ] || fail "the report: $(cat report)"
[ "$(field heap_operations)" -gt 1000 ] && [ "$(field heap_fixed_bytes)" -gt 1000000 ] || fail "its counts: $(cat report)"
[ "$(field heap_fixed_bytes)" -le "$(field heap_bytes)" ] || fail "more is fixed than there is: $(cat report)"
rm -f report
under "heap=0:report=report" ./plain >/dev/null
[ "$(field heap)" = off ] && [ "$(field randomized)" = no ] || fail "heap=0: $(cat report)"
grep -q heap_bytes report && fail "heap=0 counts: $(cat report)"
# In a program of szc's the library does nothing.
rm -f report
under "heap=1:seed=5:report=report" ./ours >/dev/null
[ "$(grep -c '"event": "start"' report)" -eq 1 ] && [ "$(field heap)" = on ] || fail "library and runtime together: $(cat report)"
rm -f report
STABILIZER_OPTIONS=code=0:heap=1:seed=7:report=report ./ours >/dev/null
[ "$(field randomized)" = yes ] && [ "$(field seed)" = 7 ] && [ "$(field code)" = off ] || fail "code=0:heap=1: $(cat report)"

# _exit in a signal handler that interrupts the heap: the report's last line comes, and nobody waits for a lock.
"$szc" -O1 -pthread -o leave "$source_directory/tests/programs/exit_in_handler.c" || exit 1
for allocator in "${allocators[@]}"; do
  for how in blocks threads; do
    for wait in 1000 1300 1700 2100 3000; do
      rm -f report
      STABILIZER_OPTIONS=code=0:heap=1:allocator=$allocator:report=report timeout 20 ./leave $how $wait || fail "_exit in a handler, $allocator, $how: status $?"
      [ "$(grep -c '"event": "exit"' report)" -eq 1 ] && grep -q heap_operations report || fail "_exit in a handler, $allocator, $how: $(cat report)"
    done
  done
done

# The same seed, the same addresses, whatever ASLR does; another seed, others.
cat >where.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  static char *block[1000];
  for (int i = 0; i < 1000; ++i) {
    block[i] = malloc((size_t)(i * 37 % 3000));
    if (i % 3 == 2) free(block[i - 1]), block[i - 1] = NULL;
  }
  for (int i = 0; i < 1000; ++i)
    if (block[i]) fprintf(stderr, "%p\n", (void *)block[i]);
  return 0;
}
C
"$szc" -O2 -o where where.c || exit 1
where() { STABILIZER_OPTIONS=heap=1:seed=$1 ./where 2>&1 | md5sum; }
[ "$(where 1)" = "$(where 1)" ] || fail "the same seed gave other addresses"
[ "$(where 1)" != "$(where 2)" ] || fail "another seed gave the same addresses"

# Little address space.
for allocator in shuffled power2 bitmap tlsf; do
  (ulimit -v 60000 && under "allocator=$allocator:seed=1" ./where 2>/dev/null) || fail "$allocator with 60 MB of address space"
done
cat >limit.c <<'C'
#include <errno.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  int count = 0;
  char *block;
  while ((block = malloc(1 << 20)) != NULL) memset(block, 1, 1 << 20), ++count;
  if (errno != ENOMEM || count < 20) return 1;
  while ((block = malloc(100)) != NULL) memset(block, 1, 100);
  return 0;
}
C
clang-22 -O1 -fno-builtin -o limit limit.c || exit 1
(ulimit -v 100000 && under "seed=1" ./limit) || fail "a program that takes all memory there is"

# Unused memory that the heap keeps does not count against the limit when more is needed.
cat >again.c <<'C'
#include <stdlib.h>
#include <string.h>
static char *filled(size_t size) {
  char *block = malloc(size);
  if (block != NULL) memset(block, 1, size);
  return block;
}
int main(void) {
  for (int i = 0; i < 3; ++i) {
    char *block = filled((size_t)32 << 20);
    if (block == NULL) return 1;
    free(block);
  }
  return filled((size_t)70 << 20) == NULL ? 2 : 0;
}
C
clang-22 -O1 -fno-builtin -o again again.c || exit 1
for allocator in shuffled power2 bitmap tlsf; do
  (ulimit -v 100000 && under "allocator=$allocator:seed=1" ./again) || fail "$allocator keeps memory that a large block needs: status $?"
done

# malloc_trim gives back what is unused, with what is kept of large blocks.
cat >trims.c <<'END'
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static long resident(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) return 0;
  fclose(file);
  return pages;
}
int main(void) {
  enum { count = 30, size = 100000 };
  static char *blocks[count];
  resident();
  for (int i = 0; i < count; ++i) memset(blocks[i] = malloc(size), 1, size);
  for (int i = 0; i < count; ++i) free(blocks[i]);
  const long before = resident();
  const int trimmed = malloc_trim(0);
  const long after = resident();
  printf("%d, %ld and %ld pages\n", trimmed, before, after);
  for (int i = 0; i < count; ++i) {
    blocks[i] = calloc(1, size);
    for (int k = 0; k < size; ++k)
      if (blocks[i][k] != 0) return 1;
  }
  return trimmed != 1 || before - after < 500;
}
END
clang-22 -O1 -fno-builtin -o trims trims.c && "$szc" -O1 -fno-builtin -o trims_ours trims.c || exit 1
for allocator in shuffled power2 bitmap tlsf; do
  output=$(under "allocator=$allocator:seed=4" ./trims) || fail "preloaded, $allocator: malloc_trim gives too little back: $output"
  output=$(STABILIZER_OPTIONS=heap=1:allocator=$allocator:seed=4 ./trims_ours) || fail "linked, $allocator: malloc_trim gives too little back: $output"
done

# A malloc of the program's own goes before ours.
cat >own.c <<'C'
#include <stdio.h>
#include <stddef.h>
#include <string.h>
static char memory[1 << 22];
static size_t used;
void *malloc(size_t n) { void *p = memory + used; used += (n + 31) / 16 * 16; return p; }
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n) { void *q = malloc(n); if (p) memcpy(q, p, n); return q; }
int main(void) { char *volatile p = malloc(10); puts(p >= memory && p < memory + sizeof memory ? "own" : "ours"); return 0; }
C
"$szc" -O1 -fno-builtin -o own own.c || exit 1
rm -f report
[ "$(STABILIZER_OPTIONS=heap=1:report=report ./own)" = own ] || fail "a malloc of the program's own"
[ "$(field heap)" = off ] && grep -q 'its own malloc' report || fail "its report: $(cat report)"
STABILIZER_OPTIONS=heap=1:strict=1 ./own >/dev/null 2>&1
[ $? -eq 125 ] || fail "strict=1 with a malloc of the program's own"

# A report that cannot be written is no reason not to run, except with strict=1.
[ "$(under report=/no/such/folder/r ./plain)" = "$(./plain)" ] || fail "a report in a folder that is not there"
under strict=1:report=/no/such/folder/r ./plain >output 2>errors
[ $? -eq 125 ] && [ ! -s output ] && grep -q 'the report cannot be written' errors || fail "strict=1 with such a report: $(cat output errors)"
finish
