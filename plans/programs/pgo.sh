#!/bin/sh
# SPDX-License-Identifier: MIT
# pgo.sh MODE OUT SOURCE TRAINING [FLAG...]: builds SOURCE with the clang that CC names, which must be clang-22. MODE
# is O2, PGO, PGO_LTO or BOLT; each mode includes the steps of the modes before it. The training run has the argument
# TRAINING. The compiler gets each FLAG in the final build, but not in the build for the training run. The program of the
# final build is measured, in the mode BOLT after BOLT has rewritten it.
set -e
mode=$1 out=$2 source=$3 training=$4
shift 4
bolt=$(command -v llvm-bolt-22 || echo /usr/lib/llvm-22/bin/llvm-bolt)
[ "$mode" != BOLT ] || [ -x "$bolt" ] || { echo "BOLT is missing: install bolt-22" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  case $source in
    *.c) "$CC" -O2 "$source" "$@" ;;
    *) "$CC" --driver-mode=g++ -std=c++17 -O2 "$source" "$@" ;;
  esac
}
[ "$mode" != O2 ] || { compile "$@" -o "$out"; exit; }

compile -fprofile-generate="$work" -o "$work/train"
"$work/train" "$training" >/dev/null
llvm-profdata-22 merge -o "$work/profile" "$work"/*.profraw
[ "$mode" != PGO ] || { compile -fprofile-use="$work/profile" "$@" -o "$out"; exit; }
[ "$mode" != PGO_LTO ] || { compile -fprofile-use="$work/profile" -flto -fuse-ld=lld "$@" -o "$out"; exit; }

# BOLT needs relocations. With -reorder-functions=none, it leaves the functions in the linker's random order.
compile -fprofile-use="$work/profile" -flto -fuse-ld=lld "$@" -Wl,--emit-relocs -o "$work/linked"
"$bolt" "$work/linked" -instrument -instrumentation-file="$work/counts" -o "$work/train" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
"$work/train" "$training" >/dev/null
"$bolt" "$work/linked" -data="$work/counts" -reorder-blocks=ext-tsp -split-functions -split-all-cold -icf=all \
  -reorder-functions=none -o "$out" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
