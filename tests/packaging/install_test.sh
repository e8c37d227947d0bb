#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# install_test.sh SOURCE BUILD: an installed tree works from any prefix and knows nothing of where it was built; CMake and
# pkg-config find it.
set -euo pipefail
. "$1/tests/lib.sh"
here=$source_directory/tests/packaging
for variable in $(env | sed -n 's/^\(STAB[A-Z_]*\)=.*/\1/p') CFLAGS CXXFLAGS LDFLAGS CC CXX DESTDIR; do unset "$variable"; done
export PATH=/usr/local/bin:/usr/bin:/bin CCACHE_DIR=$work/ccache
prefix=$work/prefix
cmake --install "$build_directory" --prefix "$prefix" --strip >/dev/null

# Nothing points back.
grep -qF "ExecStart=\"$prefix/bin/stabd\"" "$prefix/lib/systemd/system/stabd.service" || fail "the unit starts another stabd"
if grep -rlaF -e "$build_directory" -e "$source_directory" "$prefix" >"$work/found"; then
  fail "these know where they were built: $(cat "$work/found")"
fi
while read -r file; do
  ! readelf -d "$file" 2>/dev/null | grep -E 'R(UN)?PATH' || fail "$file has a path to libraries"
done < <(find "$prefix" -type f)
for file in share/man/man1/stabctl.1 share/man/man1/szc.1 share/man/man8/stabd.8 share/zsh/site-functions/_stabctl \
  share/fish/vendor_completions.d/stabctl.fish share/doc/stabd/README.md share/doc/stabd/doc/guide.md; do
  [[ -s $prefix/$file ]] || fail "$file is not installed"
done
bash -c 'source "$1"; complete -p stabctl' bash "$prefix/share/bash-completion/completions/stabctl" >/dev/null

# The compilers: all parts are those of the prefix, what they build moves, and the header is found.
szc=$prefix/bin/szc
"$szc" --stab-version | grep -v '^compiler: ' >"$work/version"
[[ $(grep -cF ": $prefix/" "$work/version") -ge 5 && $(grep -c ': /' "$work/version") == $(grep -cF ": $prefix/" "$work/version") ]] ||
  fail "szc finds its parts elsewhere: $(cat "$work/version")"
# built_and_moves COMPILER ARGUMENT...
built_and_moves() {
  "$@" -o "$work/program" || fail "$*"
  [[ $("$work/program") == 25 ]] || fail "what $1 built does not work"
  "$szc" --stab-explain "$work/program" >/dev/null || fail "what $1 built does not move"
}
built_and_moves "$szc" -O2 "$here/project/main.cc" "$here/project/squares.c"
"$szc" -c -o "$work/squares.o" "$here/project/squares.c"
built_and_moves "$szc++" -O2 "$here/project/main.cc" "$work/squares.o"

# A causal profile: stab-lines and the library are those of the prefix.
profiled() {
  clang-22 -O1 -g -I "$prefix/include/stabd" -o "$work/rounds" "$here/rounds.c"
  "$prefix/bin/stabctl" causal --scope '*/rounds.c' --runs 1 --experiment 20ms --json -- "$work/rounds" >"$work/causal" 2>"$work/said" ||
    fail "causal: $(cat "$work/said")"
  # The program prints what LD_PRELOAD is.
  grep -qxF "$prefix/lib/stabd/libstabcausal.so" "$work/causal" || fail "another library profiles: $(head -n 1 "$work/causal")"
  grep -qF '"name": "round"' "$work/causal" || fail "causal says: $(cat "$work/causal")"
}
[[ -x $prefix/libexec/stabd/stab-lines ]] || fail "stab-lines is not installed"
profiled

# Runs without a daemon, and the heap of programs that szc did not build.
for plan in plan heap; do
  "$prefix/bin/stabctl" run "$here/$plan.toml" --state "$work/$plan" >"$work/report" 2>&1 || fail "$(cat "$work/report")"
done
grep -qE 'Trials +6 ok' "$work/report" || fail "$(cat "$work/report")"
"$prefix/bin/stabctl" logs 1 --state "$work/heap" >"$work/logs"
[[ $(grep -cF "heap: $prefix/lib/stabd/libstabheap.so" "$work/logs") == 6 ]] || fail "another heap: $(cat "$work/logs")"
"$prefix/bin/stabctl" check "$prefix/share/doc/stabd/examples/quickstart.toml" >/dev/null

# CMake: only what asks for it is built with szc, also behind ccache.
# project GENERATOR [OPTION...]
project() {
  rm -rf "$work/project"
  cmake -S "$here/project" -B "$work/project" -G "$1" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER=clang-22 \
    -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_BUILD_TYPE=Release "${@:2}" >"$work/said" 2>&1
}
for options in Ninja 'Unix Makefiles' 'Ninja;-DCMAKE_C_COMPILER_LAUNCHER=ccache;-DCMAKE_CXX_COMPILER_LAUNCHER=ccache'; do
  IFS=';' read -ra words <<<"$options"
  project "${words[@]}" || fail "$options: $(cat "$work/said")"
  cmake --build "$work/project" >"$work/said" 2>&1 || fail "$options: $(cat "$work/said")"
  for name in moving libsquares.so; do
    "$szc" --stab-explain "$work/project/$name" >/dev/null || fail "$options: $name does not move"
  done
  ! "$szc" --stab-explain "$work/project/plain" >/dev/null 2>&1 || fail "$options: plain was built with szc"
  [[ $("$work/project/moving") == 25 && $("$work/project/plain") == 25 ]] || fail "$options: what is built does not work"
done
ccache --show-stats --verbose 2>/dev/null | grep -qE '^ *Cacheable calls: *[1-9]' || fail "ccache was not asked"
project Ninja -DCMAKE_C_COMPILER="$szc" -DCMAKE_CXX_COMPILER="$szc++" && cmake --build "$work/project" >"$work/said" 2>&1 ||
  fail "with szc as the compiler: $(cat "$work/said")"
"$szc" --stab-explain "$work/project/plain" >/dev/null || fail "szc as the compiler: plain does not move"
# refused TEXT OPTION...
refused() {
  ! project Ninja "${@:2}" || fail "accepted: ${*:2}"
  tr -s ' \n' ' ' <"$work/said" | grep -qF "$1" || fail "of ${*:2} it says: $(cat "$work/said")"
}
refused 'compiler is GNU; configure with -DCMAKE_C_COMPILER=clang-22' -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++
refused 'there is no target nobody' -DWRONG=nobody
refused 'nothing is compiled for stabd::stabilizer' -DWRONG=stabd::stabilizer
mv "$szc" "$szc.away"
refused 'install szc'
mv "$szc.away" "$szc"

# pkg-config, for any compiler.
export PKG_CONFIG_PATH=$prefix/share/pkgconfig
[[ $(pkg-config --modversion stabilizer) == $("$prefix/bin/stabctl" --version | grep -oE '[0-9]+\.[0-9.]+' | head -n 1) ]] ||
  fail "the version of stabilizer.pc is $(pkg-config --modversion stabilizer)"
eval "g++ $(pkg-config --cflags stabilizer) -o '$work/plain' '$here/project/main.cc' -x c '$here/project/squares.c'"
[[ $("$work/plain") == 25 ]] || fail "with pkg-config and g++"
"$(pkg-config --variable=szc stabilizer)" --stab-version >/dev/null || fail "pkg-config does not know where szc is"

# The tree can be moved.
mv "$prefix" "$work/moved"
szc=$work/moved/bin/szc
built_and_moves "$szc" -O2 "$here/project/main.cc" "$here/project/squares.c"
prefix=$work/moved
profiled

# DESTDIR is where it lies meanwhile, and nothing of it gets in.
DESTDIR=$work/root cmake --install "$build_directory" --prefix /opt/stabd --strip >/dev/null
grep -qxF 'ExecStart="/opt/stabd/bin/stabd"' "$work/root/opt/stabd/lib/systemd/system/stabd.service" || fail "DESTDIR is in the unit"
[[ $(ls "$work/root") == opt ]] || fail "with DESTDIR something is installed beside the prefix: $(ls "$work/root")"
! grep -rlaF -e "$work" "$work/root" || fail "DESTDIR is known"
