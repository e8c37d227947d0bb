#!/bin/bash
# SPDX-License-Identifier: MIT
# others_test.sh SOURCE BUILD: beside another allocator (linked, linked statically, preloaded) a program of szc's and one under
# libstabheap.so run as ever, and with heap=1 the report says whose heap serves.
set -u
. "$1/tests/lib.sh"
. "$1/tests/allocators.sh"
library=$build_directory/lib/libstabheap.so
new=$build_directory/lib/libstabnew.so
cd "$work" || exit 1
tested=0
unset STABILIZER_OPTIONS LD_PRELOAD
program=$source_directory/tests/programs/other_allocators.cpp

# runs TITLE OPTIONS COMMAND...: the program finds no failures, and is not killed.
runs() {
  local title=$1 options=$2 output
  shift 2
  output=$(STABILIZER_OPTIONS=$options timeout 120 "$@" 2>&1)
  [ $? -eq 0 ] && [[ $output == "0 failures"* ]] || fail "$title, $options: $(echo "$output" | head -3)"
}

# refuses TITLE WHY COMMAND...: heap=1 is refused for this reason, and the program runs with the other allocator; heap=0 as well.
refuses() {
  local title=$1 why=$2 allocator
  shift 2
  tested=$((tested + 1))
  runs "$title" heap=0 "$@"
  for allocator in shuffled bitmap system stretched; do
    rm -f report
    runs "$title" "heap=1:allocator=$allocator:seed=1:report=report" "$@"
    grep -q '"heap": "off"' report && grep -q "\"heap_why\": \".*$why" report || fail "$title, $allocator: the report: $(cat report)"
  done
}

# keeps TITLE FILE COMMAND...: with allocator=layer the program has a random heap above its own allocator, which the report names.
keeps() {
  local title=$1 file=$2 seed
  shift 2
  for seed in 1 2; do
    rm -f report
    runs "$title" "heap=1:strict=1:allocator=layer:seed=$seed:report=report" "$@"
    grep -q '"heap": "on", "allocator": "layer"' report && grep -q "\"other_allocator\": \".*$file" report && grep -q '"heap_operations": [0-9][0-9]' report || fail "$title, layer: the report: $(cat report)"
  done
}

# all_new TITLE COMMAND...: with libstabnew.so the layer serves all that the program takes by new, and it runs as ever.
all_new() {
  local title=$1 seed taken
  shift
  for seed in 1 2; do
    rm -f report
    runs "$title, libstabnew.so" "heap=1:strict=1:allocator=layer:seed=$seed:report=report" "$@"
    taken=$(sed -n 's/.*"heap_operations": \([0-9]*\).*/\1/p' report)
    [ "${taken:-0}" -ge 9000 ] || fail "$title, libstabnew.so: the layer did only $taken operations"
  done
}

# by_ab TITLE VERSIONS...: `stabctl ab` also has the layer serve all that both versions take by new.
by_ab() {
  local title=$1 least
  shift
  rm -rf state
  "$stabctl" ab --state state --heap --no-control --margin 49% --budget 60s "$@" >said 2>&1 || { fail "$title, ab $*: $(tail -n 3 said)"; return; }
  least=$("$stabctl" sql --state state "SELECT min(heap_operations) AS least FROM trial WHERE status = 'ok'" | tail -n 1)
  [[ ${least:-x} =~ ^[0-9]+$ && $least -ge 9000 ]] || fail "$title, ab $*: the layer did only ${least:-no} operations"
}

# strict TITLE COMMAND...: strict=1 ends a program whose heap=1 is refused.
strict() {
  local title=$1
  shift
  STABILIZER_OPTIONS=heap=1:strict=1 "$@" >/dev/null 2>&1
  [ $? -eq 125 ] || fail "$title: strict=1"
}

build() { "$1" -O2 -w -pthread -o "$2" "$program" "${@:3}"; }

build "$szc++" alone && build "$szc++" alone_own_new -DOWN_NEW && build clang++-22 plain_alone -DOWN_NEW || exit 1
for allocator in "${allocators[@]}"; do
  runs "libc's heap" "heap=1:strict=1:allocator=$allocator" ./alone
  runs "libc's heap, operator new of its own" "heap=1:strict=1:allocator=$allocator" ./alone_own_new
  runs "libc's heap, preloaded" "strict=1:allocator=$allocator" env "LD_PRELOAD=$library" ./plain_alone
done

# With jemalloc, $program crashes if addresses are not random, as in trials (also without us).
cat >news.cpp <<'C'
#include <list>
int main() {
  std::list<int> numbers;
  for (int i = 0; i < 20000; ++i) numbers.push_back(i);
  return numbers.size() != 20000;
}
C

other="an allocator other.*other_allocator\": \".*"
for name in jemalloc tcmalloc_minimal mimalloc; do
  build clang++-22 plain "-l$name" 2>/dev/null || { skipped "there is no lib$name to link with"; continue; }
  file=$(ldd plain | awk -v name="lib$name.so" 'index($1, name) == 1 { print $3 }')
  build "$szc++" ours "-l$name" && build "$szc++" ours_own_new -DOWN_NEW "-l$name" || exit 1
  refuses "linked with $name" "$other$name" ./ours
  refuses "linked with $name, operator new of its own" "$other$name" ./ours_own_new
  strict "linked with $name" ./ours
  keeps "linked with $name" $name ./ours
  keeps "linked with $name, operator new of its own" $name ./ours_own_new
  all_new "linked with $name" env "LD_PRELOAD=$new" ./ours
  all_new "$name preloaded" env "LD_PRELOAD=$new $file" ./alone
  all_new "libstabheap.so under a program with $name" env "LD_PRELOAD=$library $new" ./plain
  clang++-22 -O1 -o news news.cpp "-l$name" || exit 1
  by_ab "a program with $name" --program ./news ./news
  by_ab "a program with $name" -- ./news 'cd . && exec ./news'
  runs "operator new of its own, libstabnew.so" heap=1:strict=1:allocator=layer env "LD_PRELOAD=$new" ./ours_own_new
  keeps "$name preloaded" $name env "LD_PRELOAD=$file" ./alone
  keeps "libstabheap.so under a program with $name" $name env "LD_PRELOAD=$library" ./plain
  keeps "libstabheap.so before $name" $name env "LD_PRELOAD=$library $file" ./plain_alone
  refuses "$name preloaded" "$other$name" env "LD_PRELOAD=$file" ./alone
  refuses "libstabheap.so and $name preloaded" "$other$name" env "LD_PRELOAD=$library $file" ./alone
  refuses "$name preloaded, operator new of its own" "$other$name" env "LD_PRELOAD=$file" ./alone_own_new
  refuses "libstabheap.so under a program with $name" "$other$name" env "LD_PRELOAD=$library" ./plain
  strict "libstabheap.so under a program with $name" env "LD_PRELOAD=$library" ./plain
  refuses "libstabheap.so before $name" "$other$name" env "LD_PRELOAD=$library $file" ./plain_alone
  refuses "libstabheap.so behind $name" "its own malloc" env "LD_PRELOAD=$file $library" ./plain_alone
  archive=${file%/*}/lib$name.a
  [ $name != mimalloc ] || { not_to_be_had "mimalloc linked statically: Debian has no archive of it"; continue; }
  build "$szc++" ours "$archive" -ldl -lm || exit 1
  refuses "$name linked statically" "its own malloc" ./ours
  strict "$name linked statically" ./ours
done
# A C program may load a plugin that has a C++ runtime of its own, in which no operator new is found.
cat >plugin.cc <<'C'
#include <new>
extern "C" int use(void) {
  volatile int *one = new int(1), *many = new int[2]{1, 2}, *other = new (std::nothrow) int(3);
  const int sum = *one + many[1] + *other;
  delete one;
  delete[] many;
  delete other;
  return sum;
}
C
cat >host.c <<'C'
#include <dlfcn.h>
int main(void) {
  void *plugin = dlopen("./plugin.so", RTLD_NOW);
  int (*use)(void) = plugin ? (int (*)(void))dlsym(plugin, "use") : 0;
  return use ? use() : 1;
}
C
clang++-22 -O0 -shared -fPIC -static-libstdc++ -static-libgcc plugin.cc -o plugin.so && clang-22 host.c -o host || exit 1
LD_PRELOAD=$new ./host
[ $? -eq 6 ] || fail "a plugin with its own C++ runtime under libstabnew.so"

echo "$tested ways"
# An allocator that defines aligned_alloc but not the older memalign serves the block that it is given back.
cat >bump.c <<'C'
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static char room[64 << 20] __attribute__((aligned(4096)));
static size_t used;
void *aligned_alloc(size_t alignment, size_t size) {
  size_t at = __atomic_load_n(&used, __ATOMIC_RELAXED), next, start;
  do {
    start = (at + 16 + alignment - 1) / alignment * alignment;
    next = start + (size + 15) / 16 * 16;
  } while (!__atomic_compare_exchange_n(&used, &at, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  if (next > sizeof room) return NULL;
  memcpy(room + start - 8, &size, sizeof size);
  return room + start;
}
void *malloc(size_t size) { return aligned_alloc(16, size); }
void *calloc(size_t count, size_t size) { return aligned_alloc(16, count * size); }
void free(void *block) {
  if (block != NULL && ((char *)block < room || (char *)block >= room + sizeof room)) abort();
}
void *realloc(void *block, size_t size) {
  size_t before = 0;
  void *next = aligned_alloc(16, size);
  if (block != NULL) memcpy(&before, (char *)block - 8, sizeof before);
  if (block != NULL && next != NULL) memcpy(next, block, before < size ? before : size);
  return next;
}
int posix_memalign(void **result, size_t alignment, size_t size) {
  return (*result = aligned_alloc(alignment, size)) == NULL ? ENOMEM : 0;
}
C
cat >aligned.c <<'C'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  void *block = aligned_alloc(64, 128);
  if (block == NULL || (uintptr_t)block % 64 != 0) return 1;
  free(block);
  return puts("served") < 0;
}
C
clang-22 -O1 -fno-builtin -shared -fPIC -o libbump.so bump.c || exit 1
"$szc" -O1 -fno-builtin -o aligned_ours aligned.c -L. -lbump -Wl,-rpath,"$PWD" && clang-22 -O1 -fno-builtin -o aligned_plain aligned.c -L. -lbump -Wl,-rpath,"$PWD" || exit 1
[ "$(./aligned_ours)" = served ] || fail "aligned_alloc of the program's allocator"
for options in heap=0 heap=1:allocator=layer heap=1; do
  [ "$(STABILIZER_OPTIONS=$options ./aligned_ours)" = served ] || fail "aligned_alloc with $options"
  [ "$(STABILIZER_OPTIONS=$options LD_PRELOAD=$build_directory/lib/libstabheap.so ./aligned_plain)" = served ] || fail "aligned_alloc, preloaded, with $options"
done
finish
