# SPDX-License-Identifier: MIT
# What CI runs tests/programs with: nothing on, functions placed once, strip; then functions that move at three periods,
# and code, stack and heap on and off with every allocator. Each program runs with all of these, each of its variants with
# some of the latter. Read by scripts; see bench/correctness.
moving=strict=1:rerandomize=repeated
toggles="
  code=1:$moving:period=1ms
  code=1:$moving:period=50ms
  code=1:$moving:period=200ms
  code=0:heap=1:allocator=shuffled
  code=0:stack=1:period=10ms
  code=0:stack=1:heap=1:allocator=power2:period=10ms
  code=1:heap=1:allocator=bitmap:period=10ms
  code=1:stack=1:period=10ms
  code=1:stack=1:heap=1:allocator=tlsf:period=200ms
  code=1:stack=1:heap=1:allocator=system:period=10ms
  code=1:stack=1:heap=1:allocator=stretched:period=1ms
  code=1:stack=1:heap=1:allocator=layer:period=10ms
  code=1:stack=1:heap=1:allocator=shuffled:period=1ms"

# run_toggles SOURCE BUILD JOBS PROGRAM...
run_toggles() {
  local source_directory=$1 build_directory=$2 jobs=$3
  shift 3
  exec "$source_directory/bench/correctness" --build "$build_directory" --once --runs 1 --jobs "$jobs" --options "$toggles" \
    --programs "$(basename -a "$@" | tr '\n' ' ')"
}
