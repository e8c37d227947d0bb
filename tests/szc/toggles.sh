# SPDX-License-Identifier: MIT
# What CI runs tests/programs with: nothing on, functions placed once, strip; then functions that move at three periods,
# and code, stack and heap on and off with every allocator. Each program runs with all of these, each of its variants with
# some of the latter. Read by scripts; see bench/correctness.
source_directory=$1
. "$source_directory/tests/allocators.sh"
moving=strict=1:rerandomize=repeated
toggles="
  code=1:$moving:period=1ms
  code=1:$moving:period=50ms
  code=1:$moving:period=200ms
  code=0:heap=1:allocator=${allocators[0]}
  code=0:stack=1:period=10ms
  code=1:stack=1:period=10ms
  code=1:stack=1:heap=1:allocator=${allocators[0]}:period=1ms"
# The allocators that are not the default, each with one of these.
beside=(code=0:stack=1:period=10ms code=1:period=10ms code=1:stack=1:period=200ms code=1:stack=1:period=10ms
  code=1:stack=1:period=1ms code=1:stack=1:period=10ms)
for i in "${!allocators[@]}"; do
  [ "$i" = 0 ] || toggles+=" ${beside[(i - 1) % ${#beside[@]}]}:heap=1:allocator=${allocators[i]}"
done

# run_toggles SOURCE BUILD JOBS PROGRAM...
run_toggles() {
  local source_directory=$1 build_directory=$2 jobs=$3
  shift 3
  exec "$source_directory/bench/correctness" --build "$build_directory" --once --runs 1 --jobs "$jobs" --options "$toggles" \
    --programs "$(basename -a "$@" | tr '\n' ' ')"
}
