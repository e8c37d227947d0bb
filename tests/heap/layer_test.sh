#!/bin/bash
# SPDX-License-Identifier: MIT
# layer_test.sh SOURCE BUILD: with allocator=layer a program keeps its own allocator: libc's, another one, or one in a library of its
# own. Page faults and memory stay what they are, and blocks of up to 1 KB lie elsewhere with each seed.
set -u
. "$1/tests/lib.sh"
library=$build_directory/lib/libstabheap.so
cd "$work" || exit 1
unset STABILIZER_OPTIONS LD_PRELOAD
field() { sed -n "s/.*\"$1\": \"\{0,1\}\([^\",}]*\).*/\1/p" report | tail -1; }
# is_on TITLE: the report says that the layer serves, and did.
is_on() {
  grep -q '"heap": "on", "allocator": "layer".*"randomized": "yes"' report && [ "$(field heap_operations)" -gt 0 ] || fail "$1: the report: $(cat report)"
}

# What a program took, at its end: page faults and peak memory in KB.
cat >took.c <<'C'
#include <stdio.h>
#include <sys/resource.h>
__attribute__((destructor)) static void say(void) {
  struct rusage usage;
  FILE *file = fopen("took", "w");
  getrusage(RUSAGE_SELF, &usage);
  fprintf(file, "%ld %ld\n", usage.ru_minflt, usage.ru_maxrss);
  fclose(file);
}
C
# near TITLE FAULTS PEAK: the last run took as much, but for 5 % and what the layer itself takes.
near() {
  local faults peak
  read -r faults peak <took
  awk -v a="$2" -v b="$faults" 'BEGIN { exit !(b <= a * 1.05 + 100 && b >= a * 0.95 - 100) }' || fail "$1: $faults page faults, and $2 without the layer"
  awk -v a="$3" -v b="$peak" 'BEGIN { exit !(b <= a * 1.05 + 1024 && b >= a * 0.95 - 1024) }' || fail "$1: a peak of $peak KB, and $3 without the layer"
}
# The allocator's thresholds, trimming, growth and zeroed pages: both programs of each pair.
for pair in 1 4 6 8; do
  for other in '' -DOTHER; do
    flags="-O2 -w -pthread -DPAIR=$pair $other $source_directory/bench/workloads/allocators.c took.c"
    clang-22 $flags -o plain && "$szc" $flags -o ours || exit 1
    ./plain >/dev/null
    read -r faults peak <took
    STABILIZER_OPTIONS=allocator=layer:seed=1:report=report LD_PRELOAD=$library ./plain >/dev/null || fail "pair $pair $other, preloaded: status $?"
    near "pair $pair $other, preloaded" "$faults" "$peak"
    is_on "pair $pair $other, preloaded"
    STABILIZER_OPTIONS=code=0:heap=0 ./ours >/dev/null
    read -r faults peak <took
    STABILIZER_OPTIONS=code=0:heap=1:allocator=layer:seed=1:report=report ./ours >/dev/null || fail "pair $pair $other, linked: status $?"
    near "pair $pair $other, linked" "$faults" "$peak"
    is_on "pair $pair $other, linked"
    rm -f report
  done
done

# An allocator in a library, of which nobody knows anything: it aborts where somebody wrote beyond the multiple of 8 that was asked for,
# and has no malloc_usable_size.
cat >own.c <<'C'
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
static char memory[1 << 26];
static size_t used;
static const char mark[8] = "the end";
struct head { size_t size, unused; };
void *malloc(size_t n) {
  n = (n + 7) / 8 * 8;
  size_t at = __atomic_fetch_add(&used, (sizeof(struct head) + n + sizeof mark + 15) / 16 * 16, __ATOMIC_RELAXED);
  if (at + n + 64 > sizeof memory) return NULL;
  struct head *head = (struct head *)(memory + at);
  head->size = n;
  memcpy((char *)(head + 1) + n, mark, sizeof mark);
  return head + 1;
}
void free(void *p) {
  if (p == NULL) return;
  if ((char *)p < memory || (char *)p >= memory + sizeof memory) abort();
  struct head *head = (struct head *)p - 1;
  if (memcmp((char *)p + head->size, mark, sizeof mark) != 0) abort();
}
void *calloc(size_t n, size_t m) { return malloc(n * m); }
void *realloc(void *p, size_t n) {
  void *q = malloc(n);
  if (p != NULL && q != NULL) memcpy(q, p, ((struct head *)p)[-1].size < n ? ((struct head *)p)[-1].size : n);
  free(p);
  return q;
}
C
cat >uses.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
  static char *block[500];
  for (int i = 0; i < 20000; ++i) {
    char **place = &block[i * 7 % 500];
    const size_t size = (size_t)i * 37 % 1500;
    free(*place);
    if ((*place = malloc(size)) == NULL) return 1;
    memset(*place, i, size);
    if (i % 5 == 0) *place = realloc(*place, size + 10), memset(*place, i, size + 10);
  }
  for (int i = 0; i < 500; ++i) free(block[i]);
  puts("whole");
  return 0;
}
C
clang-22 -O1 -fno-builtin -shared -fPIC -o libown.so own.c && clang-22 -O1 -fno-builtin -o plain uses.c -L. -lown -Wl,-rpath,. &&
  "$szc" -O1 -fno-builtin -o ours uses.c -L. -Wl,--no-as-needed -lown -Wl,-rpath,. || exit 1
[ "$(./plain)" = whole ] || fail "the program with an allocator of its own"
for seed in 1 2 3; do
  rm -f report
  [ "$(STABILIZER_OPTIONS=allocator=layer:seed=$seed:report=report LD_PRELOAD=$library ./plain)" = whole ] || fail "an allocator in a library, preloaded, seed $seed"
  is_on "an allocator in a library, preloaded"
  [[ $(field other_allocator) == *libown.so ]] || fail "the report does not name it: $(cat report)"
  rm -f report
  [ "$(STABILIZER_OPTIONS=heap=1:allocator=layer:seed=$seed:report=report ./ours)" = whole ] || fail "an allocator in a library, linked, seed $seed"
  is_on "an allocator in a library, linked"
done
# One in the executable goes before everything: its heap stays, and the report says so.
"$szc" -O1 -fno-builtin -o inside uses.c own.c || exit 1
rm -f report
[ "$(STABILIZER_OPTIONS=heap=1:allocator=layer:report=report ./inside)" = whole ] || fail "an allocator in the executable"
[ "$(field heap)" = off ] && [[ $(field heap_why) == *"its own malloc"* ]] || fail "an allocator in the executable: $(cat report)"

# The same addresses with the same seed, others with another.
cat >where.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  static char *block[1000];
  for (int i = 0; i < 1000; ++i) block[i] = malloc((size_t)(i * 37 % 1000));
  for (int i = 0; i < 1000; ++i) fprintf(stderr, "%p\n", (void *)block[i]);
  return 0;
}
C
clang-22 -O1 -o where where.c || exit 1
if setarch -R true 2>/dev/null; then
  where() { STABILIZER_OPTIONS=allocator=layer:seed=$1 LD_PRELOAD=$library setarch -R ./where 2>&1 | md5sum; }
  [ "$(where 1)" = "$(where 1)" ] || fail "the same seed gave other addresses"
  [ "$(where 1)" != "$(where 2)" ] || fail "another seed gave the same addresses"
else
  skipped "the address space cannot be the same twice: setarch -R fails"
fi

# Without memory a program gets what the layer holds, and then the allocator's own answer.
cat >limit.c <<'C'
#include <errno.h>
#include <stdlib.h>
int main(void) {
  static char *blocks[1 << 20];
  int count = 0;
  for (int i = 0; i < 2000; ++i) free(malloc(100));
  errno = 0;
  while (count < 1 << 20 && (blocks[count] = malloc(100)) != NULL) ++count;
  return errno == ENOMEM && count > 1000 ? 0 : 1;
}
C
clang-22 -O1 -fno-builtin -o limit limit.c || exit 1
(ulimit -v 40000 && STABILIZER_OPTIONS=allocator=layer:seed=1 LD_PRELOAD=$library ./limit) || fail "a program that takes all memory there is: status $?"

# libstabnew.so in programs that it is not for: operator new of libstdc++, also where only a library that was loaded later has one, and
# requests that fail.
cat >plugin.cc <<'C'
#include <new>
#include <string>
extern "C" int use() {
  std::string *text = new std::string(50, 'y');
  volatile size_t most = size_t{1} << 60;
  int length = (int)text->size();
  delete text;
  if (new (std::nothrow) char[most] != nullptr) return 1;
  try {
    char *volatile block = new char[most];
    (void)block;
  } catch (const std::bad_alloc &) {
    return length;
  }
  return 2;
}
C
cat >host.c <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  void *plugin = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
  int (*use)(void) = plugin == NULL ? NULL : (int (*)(void))dlsym(plugin, "use");
  printf("%d\n", use == NULL ? 0 : use());
  return 0;
}
C
clang++-22 -O1 -w -fno-builtin -shared -fPIC -o plugin.so plugin.cc && clang-22 -O1 -o host host.c &&
  echo 'extern "C" int use(); int main() { return use() == 50 ? 0 : 1; }' >direct.cc && clang++-22 -O1 -o direct direct.cc ./plugin.so || exit 1
preloads=$library:$build_directory/lib/libstabnew.so
[ "$(STABILIZER_OPTIONS=allocator=layer:seed=1 LD_PRELOAD=$preloads ./host)" = 50 ] || fail "libstabnew.so: a library with C++ that is loaded later"
STABILIZER_OPTIONS=allocator=layer:seed=1 LD_PRELOAD=$preloads ./direct || fail "libstabnew.so: operator new of libstdc++"

# What `stabctl ab` says of programs whose time depends on their allocator is never the opposite of what is true.
"$source_directory/bench/allocators" --build "$build_directory" --pairs "3 9 18" --budget 3s >said 2>&1 || fail "bench/allocators: $(cat said)"
grep -q '^3 answers: 0 wrong signs' said || fail "bench/allocators: $(cat said)"
finish
