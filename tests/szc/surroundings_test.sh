#!/bin/bash
# SPDX-License-Identifier: MIT
# surroundings_test.sh SOURCE BUILD: a program of threads, exceptions and blocks runs as clang's does in hostile and odd
# surroundings, with code, stack and heap each on and off: never a crash, a hang, or a file written for somebody else.
set -u
. "$1/tests/lib.sh"
. "$1/tests/allocators.sh"
szc=$build_directory/bin/szc++
clang=clang++-22
cd "$work" || exit 1
chmod 755 .
unset STABILIZER_OPTIONS
runs=0

cat >program.cc <<'END'
#include <pthread.h>
#include <time.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
int from_library(int (*call)(int), int x);
namespace {
struct Node { int value; Node* left; Node* right; };
Node* build(int depth) {
  return depth == 0 ? nullptr : new Node{depth, build(depth - 1), build(depth - 1)};
}
struct Shape {
  virtual ~Shape() = default;
  virtual int area(int x) const = 0;
};
struct Square : Shape { int area(int x) const override { return x * x; } };
struct Line : Shape { int area(int x) const override { return x + 1; } };
int areas() {
  int all = 0;
  for (int i = 0; i < 100; ++i) {
    const Shape* shape = i % 3 == 0 ? static_cast<const Shape*>(new Square) : new Line;
    all += shape->area(i);
    delete shape;
  }
  return all;
}
int sum(Node* node) {
  if (node == nullptr) return 0;
  const int all = node->value + sum(node->left) + sum(node->right);
  delete node;
  return all;
}
int thrown(int x) {
  try {
    if (x % 3 == 0) throw std::runtime_error("three");
    if (x % 5 == 0) throw x;
    return x;
  } catch (const std::exception& e) { return static_cast<int>(std::string(e.what()).size()); } catch (int y) { return -y; }
}
unsigned long once() {
  unsigned long all = sum(build(8)) + static_cast<unsigned long>(areas());
  std::map<std::string, int> words;
  for (int i = 0; i < 200; ++i) words[std::to_string(i * 7919 % 251)] += thrown(i);
  for (const auto& [word, n] : words) all = all * 31 + static_cast<unsigned long>(n) + word.size();
  std::vector<int> numbers;
  for (int i = 0; i < 500; ++i) numbers.push_back(i * 7919 % 1009);
  std::sort(numbers.begin(), numbers.end(), [](int a, int b) {
    return std::pair(from_library(thrown, a), a) < std::pair(from_library(thrown, b), b);
  });
  for (const int n : numbers) all = all * 31 + static_cast<unsigned long>(n);
  return all;
}
void* work(void* result) {
  unsigned long all = 0;
  const clock_t end = clock() + CLOCKS_PER_SEC / 25;
  do all = once(); while (clock() < end);
  *static_cast<unsigned long*>(result) = all;
  return nullptr;
}
void* briefly(void* result) {
  *static_cast<unsigned long*>(result) = static_cast<unsigned long>(sum(build(3)));
  return nullptr;
}
}  // namespace
int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 3;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (count > 100) pthread_attr_setstacksize(&attributes, 65536);
  std::vector<unsigned long> results(static_cast<std::size_t>(count));
  std::vector<pthread_t> threads(results.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    if (pthread_create(&threads[i], &attributes, count > 100 ? briefly : work, &results[i]) != 0) threads[i] = 0;
  unsigned long own = 0;
  work(&own);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (threads[i] != 0) pthread_join(threads[i], nullptr);
    else results[i] = count > 100 ? static_cast<unsigned long>(sum(build(3))) : once();
  }
  for (const unsigned long result : results)
    if (result != results[0]) return 3;
  std::printf("%lu %lu\n", own, results[0]);
  return 42;
}
END
cat >library.cc <<'END'
int from_library(int (*call)(int), int x) {
  switch (x & 3) {
    case 0: return call(x) + 1;
    case 1: return call(x ^ 5);
    case 2: return call(x) * 2;
  }
  return call(x + 1);
}
END
flags="-std=c++20 -O1 -w -pthread"

# program NAME LIBRARY'S-COMPILER FLAGS [WHY]: NAME/program by szc with a library of its own, of program.o or of what `from`
# names. The compilers say nothing, or WHY szc does not randomize it.
program() {
  local name=$1 other=$2 more=${3-} why=${4-}
  mkdir -p "$name"
  { $other -O1 -fPIC -shared library.cc -Wl,-soname,library.so -o "$name/library.so" &&
    $szc $flags ${from-program.o} "$name/library.so" "-Wl,-rpath,$work/$name:\$ORIGIN" $more -o "$name/program"; } 2>"$name/said" ||
    fail "$name is not built: $(cat "$name/said")"
  if [ -n "$why" ]; then grep -qF "$why" "$name/said"; else [ ! -s "$name/said" ]; fi ||
    fail "$name: szc says '$(cat "$name/said")' and not '${why:-nothing}'"
}

# same TITLE COMMAND...: with all eight toggles what clang's program says without any surroundings. Each of the allocators
# meets, in turn, each combination of the others.
same() {
  local title=$1 code stack heap output status expected options
  shift
  expected=$(./plain ${arguments-})
  for code in 0 1; do for stack in 0 1; do for heap in 0 1; do
    runs=$((runs + 1))
    options=code=$code:stack=$stack:heap=$heap
    [ $heap = 0 ] || options+=:allocator=${allocators[(runs / 2 + runs / 8) % ${#allocators[@]}]}
    output=$(STABILIZER_OPTIONS=$options:period=2ms:budget=off:seed=$runs:poison=1 timeout 120 "$@" 2>errors)
    status=$?
    [ $status = 42 ] && [ "$(tail -n 1 <<<"$output")" = "$expected" ] ||
      fail "$title, $options: status $status, '$output' and not '$expected'; $(head -3 errors)"
  done; done; done
}

$clang $flags program.cc library.cc -o plain && $szc $flags -c program.cc -o program.o || exit 1
program ordinary "$szc"
same ordinary ordinary/program

# Limits. What a limit refuses the program itself counts: it does that work by itself.
same "ulimit -v" bash -c 'ulimit -v 600000; exec ordinary/program'
same "ulimit -s" bash -c 'ulimit -s 512; exec ordinary/program'
# Room for one file beside the three that every program has: what else is open is closed.
same "ulimit -n" bash -c '
  for file in /proc/$$/fd/*; do [ "${file##*/}" -lt 3 ] || eval "exec ${file##*/}>&-"; done
  ulimit -n 4; exec ordinary/program'
# Functions before and behind 16 MB that stay: the second range of text cannot be made writable.
printf '.text\nblob: .fill 16000000,1,0x90\n.section .note.GNU-stack,"",@progbits\n' >blob.s
cat >behind.cc <<'END'
int behind(int x) { return x + 3; }
END
program large "$szc" "blob.s behind.cc"
for kilobytes in 8000 18000; do
  arguments=1 same "ulimit -d $kilobytes" bash -c "ulimit -d $kilobytes; exec large/program 1"
done
same "ulimit -i" bash -c 'ulimit -i 2; exec ordinary/program'
arguments=3000 same "3,000 threads" ordinary/program 3000

# Sandboxes, and what cannot be read.
$clang -x c -O1 "$source_directory/tests/szc/refuse.c" -o refuse || exit 1
if ./refuse exec /bin/true 2>/dev/null; then
  for what in mprotect exec near mremap; do same "refused: $what" ./refuse $what ordinary/program; done
else
  skipped "no seccomp here"
fi
# From the second call on, at the start, and from the 13th on, in the midst of the run.
if ./refuse exec:0 /bin/true 2>/dev/null; then
  for what in mremap:1 mremap:12; do same "refused: $what" ./refuse $what ordinary/program; done
else
  skipped "no seccomp here that counts"
fi
if unshare -rm true 2>/dev/null; then
  same "no /proc" unshare -rm sh -c 'mount -t tmpfs none /proc && exec ordinary/program'
else
  skipped "no user namespaces here, so /proc cannot be hidden"
fi
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  mkdir -p jail mine && chmod 777 mine
  for file in $(ldd ordinary/program | grep -o '/[^ )]*'); do mkdir -p "jail$(dirname "$file")" && cp -L "$file" "jail$file"; done
  cp ordinary/program ordinary/library.so jail/
  same chroot chroot jail /program
  chmod u+s ordinary/program
  same setuid setpriv --reuid=65534 --regid=65534 --clear-groups ordinary/program
  (STABILIZER_OPTIONS=report=$work/mine/report LD_LIBRARY_PATH=/x setpriv --reuid=65534 --regid=65534 --clear-groups ordinary/program) >/dev/null
  [ -z "$(find mine -type f -user 0)" ] || fail "setuid: a file was written for the caller"
  chmod u-s ordinary/program
else
  skipped "chroot and setuid need root"
fi
# Gdb's own lines about threads may begin in the middle of the program's.
if gdb -batch -ex "set print thread-events off" -ex run ./plain 2>/dev/null | grep -q '^[0-9]* [0-9]*$'; then
  same debugger bash -c 'gdb -batch -ex "set print thread-events off" -ex run ordinary/program 2>/dev/null | grep -E "^[0-9]+ [0-9]+$"; exit 42'
else
  skipped "gdb cannot run programs here"
fi
if strace -o /dev/null true 2>reason; then
  same strace strace -f -o /dev/null ordinary/program
else
  skipped "strace cannot run programs here: $(cat reason)"
fi
$clang -x c -O1 "$source_directory/tests/szc/attach.c" -o attach || exit 1
if ./attach sleep 2 2>reason; then
  same "a tracer that comes and goes" ./attach ordinary/program
else
  skipped "$(cat reason)"
fi
# A profiler whose handler walks stacks by nongnu libunwind, and probes of the kernel.
profiler=$(ls /usr/lib/x86_64-linux-gnu/libprofiler.so.? 2>/dev/null | head -1)
if [ -n "$profiler" ]; then
  same "a profiler by libunwind" env LD_PRELOAD="$profiler" CPUPROFILE="$work/profile" CPUPROFILE_FREQUENCY=1000 ordinary/program
else
  skipped "no libprofiler"
fi
$clang -x c -O1 "$source_directory/tests/szc/probe.c" -o probe || exit 1
if ./probe return libc.so.6 malloc /bin/true 2>reason; then
  for when in entry return; do
    same "a probe of malloc's $when" ./probe $when libc.so.6 malloc ordinary/program
    same "a probe of our code's $when" ./probe $when ordinary/library.so _Z12from_libraryPFiiEi ordinary/program
  done
else
  skipped "$(cat reason)"
fi

# Other allocators, preloaded and linked.
folder=/usr/lib/x86_64-linux-gnu
for allocator in jemalloc tcmalloc_minimal mimalloc; do
  file=$(ls $folder/lib$allocator.so.? 2>/dev/null | head -1)
  [ -z "$file" ] && skipped "no $allocator" && continue
  same "$allocator preloaded" env LD_PRELOAD="$file" ordinary/program
  program $allocator "$szc" -l$allocator
  same "$allocator linked" $allocator/program
  [ $allocator = mimalloc ] && not_to_be_had "mimalloc linked statically: Debian has no archive of it" && continue
  program "${allocator}_inside" "$szc" "$folder/lib$allocator.a -lm"
  same "$allocator linked statically" "${allocator}_inside/program"
done
library_of_heap=$build_directory/lib/libstabheap.so
same "libstabheap.so preloaded" env LD_PRELOAD="$library_of_heap" ordinary/program

# Libraries of other compilers and linkers, link-time optimization, static parts.
program foreign g++
same "a library of g++" foreign/program
program optimized "g++ -flto"
same "a library of g++ -flto" optimized/program
for linker in mold gold; do
  command -v ld.$linker >/dev/null || { skipped "no $linker"; continue; }
  program $linker "g++ -fuse-ld=$linker"
  same "a library of $linker" $linker/program
  program by_$linker "$szc -fuse-ld=$linker" -fuse-ld=$linker "program is not randomized: the linker is ld.$linker, not lld"
  same "all by $linker" by_$linker/program
done
from=program.cc program thin "$szc" -flto=thin
same "-flto=thin" thin/program
from=program.cc program full "$szc" -flto
same "-flto" full/program
program parts "$szc" "-static-libstdc++ -static-libgcc"
same "static parts" parts/program

# Sanitizers. Those with a library in the program that needs its code, stack or blocks where they are, szc does not randomize.
stays="program is not randomized: -fsanitize=SANITIZER needs code to stay in place"
for sanitizer in address thread memory leak hwaddress safe-stack; do
  more=
  # Processors without tagged addresses have those of aliased pages.
  [ $sanitizer != hwaddress ] || more=-fsanitize-hwaddress-experimental-aliasing
  # libstdc++ is not instrumented: what it writes counts as not written.
  [ $sanitizer != memory ] || more=-fsanitize-recover=memory
  from=program.cc program $sanitizer "$clang" "-fsanitize=$sanitizer $more" "${stays/SANITIZER/$sanitizer}"
  same "-fsanitize=$sanitizer" env MSAN_OPTIONS=report_umrs=0:exitcode=0 $sanitizer/program
  same "-fsanitize=$sanitizer, libstabheap.so preloaded" env MSAN_OPTIONS=report_umrs=0:exitcode=0 LD_PRELOAD="$library_of_heap" $sanitizer/program
done
from=program.cc program undefined "$szc" -fsanitize=undefined
same "-fsanitize=undefined" undefined/program
from=program.cc program cfi "$szc" "-fsanitize=cfi -flto -fvisibility=hidden"
same "-fsanitize=cfi" cfi/program

# ThreadSanitizer starts a thread in code that we would change. So says the post-link step where szc does not know the library
# by its name.
library=$($clang -print-file-name=lib/linux/libclang_rt.tsan-x86_64.a)
[ -f "$library" ] || library=$($clang -fsanitize=thread -### program.cc 2>&1 | grep -o '[^" ]*/libclang_rt\.tsan[-_a-z0-9]*\.a' | head -1)
cp "$library" renamed.a && $clang $flags -fsanitize=thread -c program.cc -o watched.o || fail "ThreadSanitizer by another name"
from=watched.o program watched "$clang" "-Wl,--whole-archive renamed.a -Wl,--no-whole-archive -rdynamic -lm -ldl" \
  "ThreadSanitizer is linked in, and it starts a thread too early"
same "ThreadSanitizer by another name" watched/program

echo "$runs runs, $failures failures"
[ "$failures" -eq 0 ]
finish
