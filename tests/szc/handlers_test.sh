#!/bin/bash
# SPDX-License-Identifier: MIT
# handlers_test.sh SOURCE BUILD: what of the runtime runs in a program's signal handlers waits for nothing that the
# interrupted code or another thread may have (Handlers 1), an unwinder there finds the frames of the interrupted code,
# and a crash stays the same signal however small the stack is.
set -u
. "$1/tests/lib.sh"
. "$source_directory/tests/programs/build.sh"
cd "$work" || exit 1
# To unwind, while another thread has the loader's lock. To fork, while the only thread is anywhere in the heap or in our
# part of dlopen.
for program in unwind_in_handler.cpp fork_in_handler.c; do
  while IFS='|' read -r file compiler flags; do
    build_both . "$file" "$compiler" "$flags" || { fail "$program is not built"; continue; }
    expected=$(run plain "")
    ! grep '^only ' plain/errors || skipped "forks of $program by clang met little of the heap's code"
    grep -q 'exit 0' <<<"$expected" || fail "$program by clang: $expected"
    for options in code=0 code=0:heap=1 code=0:heap=1:allocator=bitmap code=0:heap=1:allocator=tlsf code=1:stack=1:heap=1:period=1ms; do
      [ "$(run ours "$options")" = "$expected" ] || fail "$program $flags, $options: $(cat ours/output ours/errors)"
      ! grep '^only ' ours/errors || skipped "forks of $program, $options, met little of the heap's code"
    done
  done < <(variants_of "$program")
done
(cd ours && STABILIZER_OPTIONS=code=1:period=1ms timeout 300 ./program module >output) || fail "forks while modules are loaded: $?, $(cat ours/output)"

# To unwind at any instruction, also on the way to a function or to a part of one. (Slow tests run all variants.)
for compiler in szc gcc; do
  build_ours . "$programs/epoch_steps.cpp" $compiler -O2 || { fail "epoch_steps.cpp is not built by $compiler"; continue; }
  for options in rerandomize=once period=1ms:budget=off:seed={1,2}; do
    output=$(run ours "strict=1:stack=1:$options")
    grep -q 'exit 0' <<<"$output" || fail "epoch_steps.cpp by $compiler, $options: $output $(cat ours/errors)"
  done
done

# With a stack that has room for the kernel's frame and little more, or none.
$szc -O1 -w -o small "$programs/crash_small_stack.c" || exit 1
for name in ABRT FPE ILL SEGV; do
  for size in 2048 3072 4096 16384; do
    rm -f report
    (STABILIZER_OPTIONS=code=0 exec ./small $name $size) 2>/dev/null
    expected=$?
    [ $expected = 4 ] && continue # the kernel wants a larger one
    (STABILIZER_OPTIONS=report=report exec ./small $name $size) 2>/dev/null
    status=$?
    [ $status = $((128 + $(kill -l $name))) ] && [ $status = $expected ] || fail "$name on $size bytes: status $status, not $expected"
    [ $name = SEGV ] && [ $size -lt 16384 ] || grep -q '"event": "signal"' report || fail "$name on $size bytes: no line in the report"
  done
done 2>/dev/null

# Nobody reads the report when main returns, and the handler's _exit comes while its last line is on the way.
$szc -O1 -o leave "$programs/exit_in_last_line.c" || exit 1
mkfifo pipe
for options in code=0 period=1ms; do
  rm -f go
  STABILIZER_OPTIONS=$options:report=pipe timeout 60 ./leave go &
  timeout 60 head -n 1 pipe >first
  touch go
  sleep 0.5
  timeout 60 cat pipe >second
  wait $! || fail "_exit while the last line is written, $options: status $?"
  grep -q '"event": "start"' first && grep -q '"event": "exit"' second || fail "_exit while the last line is written, $options: $(cat first second)"
done
finish
