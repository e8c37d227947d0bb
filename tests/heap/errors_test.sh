#!/bin/bash
# SPDX-License-Identifier: MIT
# errors_test.sh SOURCE BUILD: programs that misuse their heap end as with libc's heap, by SIGABRT and with a line that says
# why; those that do not are left alone.
set -u
. "$1/tests/lib.sh"
. "$1/tests/allocators.sh"
library=$build_directory/lib/libstabheap.so
cd "$work" || exit 1
unset STABILIZER_OPTIONS LD_PRELOAD
ulimit -c 0

program=$source_directory/tests/programs/heap_errors.c
"$szc" -O1 -fno-builtin -w -pthread -o ours "$program" && clang-22 -O1 -fno-builtin -w -pthread -o plain "$program" || exit 1

# ends ALLOCATOR "HOW [handler]" WHY: linked and preloaded, the program is ended for this reason.
ends() {
  local seed output status
  for seed in 1 2; do
    output=$(STABILIZER_OPTIONS=heap=1:allocator=$1:seed=$seed timeout 20 ./ours $2 2>&1)
    status=$?
    [ $status -eq 134 ] && [[ $output == "stabilizer: the heap is damaged: "*$3* ]] || fail "$1, $2: status $status, $output"
    output=$(STABILIZER_OPTIONS=allocator=$1:seed=$seed LD_PRELOAD=$library timeout 20 ./plain $2 2>&1)
    status=$?
    [ $status -eq 134 ] && [[ $output == *"stabilizer: the heap is damaged: "*$3* ]] || fail "preloaded, $1, $2: status $status, $output"
  done
} 2>/dev/null

for allocator in "${allocators[@]}"; do
  output=$(STABILIZER_OPTIONS=heap=1:allocator=$allocator ./ours none)
  [ "$output" = unnoticed ] || fail "$allocator: nothing is wrong, and: $output"
done
for allocator in shuffled power2 bitmap tlsf; do
  for how in inner large-inner realloc-inner large-twice large-realloc-freed; do ends $allocator $how "an invalid address"; done
done
for allocator in shuffled power2 bitmap; do ends $allocator inner-16 "an invalid address"; done
for allocator in shuffled power2 tlsf system; do
  for how in twice realloc-freed; do ends $allocator $how twice; done
done
# Its slab may be gone, and with it what says that the block was one.
for how in twice twice-elsewhere twice-later realloc-freed; do ends bitmap $how ""; done
# What doc/limits.md says of the others.
for allocator in shuffled power2 tlsf system; do
  output=$(STABILIZER_OPTIONS=heap=1:allocator=$allocator ./ours twice-elsewhere)
  [ "$output" = unnoticed ] || fail "$allocator: doc/limits.md says that what another thread freed goes unnoticed, and: $output"
done
# The program's own handler of the signal allocates: no lock of the heap is held then.
for allocator in shuffled power2 bitmap tlsf; do
  for how in twice twice-at-a-threads-end; do ends $allocator "$how handler" "twice"*"signal 6, block 1"; done
done
for allocator in shuffled power2 bitmap; do ends $allocator "twice-in-a-thread handler" "twice"*"signal 6, block 1"; done
for how in twice-later twice-elsewhere; do ends bitmap "$how handler" "twice"*"signal 6, block 1"; done
for how in inner large-twice; do ends bitmap "$how handler" "signal 6, block 1"; done
finish
