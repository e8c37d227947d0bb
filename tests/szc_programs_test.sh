#!/bin/bash
# SPDX-License-Identifier: MIT
# szc_programs_test.sh SOURCE BUILD [PROGRAM...]: builds each of tests/programs with clang and with szc and compares
# output and exit status, with code=0 and with code=1 at several seeds. Directives stand in the programs' comments:
#   variants: flags | flags      each is a test          sources: other files
#   library: / plain_library:    shared, by szc / clang  module: for dlopen
#   link: flags                  compilers: szc gcc      gcc compiles, szc links
#   stubs: no                    not with label_stubs=1
set -u
source_directory=$1
build_directory=$2
shift 2
programs=$source_directory/tests/programs
szc=${SZC:-$build_directory/bin/szc}
clang=${STAB_CLANG:-clang-19}
include=-I$build_directory/include
seeds=${SEEDS:-1 2 3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
tests=0

directive() { sed -n "s|^// $2: *||p" "$1" | head -1; }

# driver FILE NAME: NAME, or NAME++ for C++.
driver() { case $1 in *.cpp) case $2 in *-19) echo "${2%-19}++-19" ;; gcc) echo g++ ;; *) echo "$2++" ;; esac ;; *) echo "$2" ;; esac; }

without_linking() { echo "$*" | sed 's/-no-pie//; s/-Wl,[^ ]*//g; s/-static-lib[a-z+]*//g'; }

# build FOLDER PROGRAM COMPILER LINKER FLAGS: FOLDER/program and its libraries.
build() {
  local folder=$1 file=$2 compiler=$3 linker=$4 flags=$5 objects="" extra="" part
  mkdir -p "$folder"
  local compile_flags
  compile_flags=$(without_linking "$flags")
  for part in $(directive "$file" library) $(directive "$file" module); do
    local library_flags
    library_flags=$(echo "$compile_flags" | sed 's/-fno-pie//; s/-ftls-model=[a-z-]*//')
    local output=$folder/${part%.*}.so
    $(driver "$part" "$linker") $library_flags -w -fPIC -shared -o "$output" "$programs/$part" || return 1
  done
  part=$(directive "$file" plain_library)
  [ -z "$part" ] || $(driver "$part" "$clang") $compile_flags -w -fPIC -shared -o "$folder/${part%.*}.so" "$programs/$part" || return 1
  for part in $(directive "$file" library) $(directive "$file" plain_library); do extra="$extra $folder/${part%.*}.so"; done
  for part in $(basename "$file") $(directive "$file" sources); do
    $(driver "$part" "$compiler") $compile_flags -w $include -c -o "$folder/$part.o" "$programs/$part" || return 1
    objects="$objects $folder/$part.o"
  done
  $(driver "$file" "$linker") $flags -o "$folder/program" $objects $extra $(directive "$file" link) -rdynamic -fuse-ld=lld \
    "-Wl,-rpath,$folder" || return 1
}

# run FOLDER OPTIONS: output and exit status.
run() {
  (
    cd "$1" || exit
    STABILIZER_OPTIONS=$2 timeout 60 ./program >output 2>errors </dev/null
    echo "exit $?" >>output
  ) 2>/dev/null
  cat "$1/output"
}

fail() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

check() {
  local file=$1 flags=$2 compiler=$3
  local title="$(basename "$file") $compiler $flags"
  rm -rf "$work"/plain "$work"/ours
  tests=$((tests + 1))
  local reference=$clang
  [ "$compiler" = gcc ] && reference=gcc
  build "$work/plain" "$file" "$reference" "$clang" "$flags" >"$work/log" 2>&1 || { cat "$work/log"; fail "$title: clang does not build it"; return; }
  local with=$szc
  [ "$compiler" = gcc ] && with=gcc
  build "$work/ours" "$file" "$with" "$szc" "$flags" >"$work/log" 2>&1 || { cat "$work/log"; fail "$title: szc does not build it"; return; }
  local expected
  expected=$(run "$work/plain" "")
  [ "$(run "$work/ours" code=0)" = "$expected" ] || fail "$title: code=0"
  local seed
  for seed in $seeds; do
    local options=code=1:strict=1:seed=$seed:report=$work/report
    rm -f "$work/report"
    local got
    got=$(run "$work/ours" "$options")
    [ "$got" = "$expected" ] || { fail "$title: seed $seed"; diff <(echo "$expected") <(echo "$got") | head -5; head -3 "$work/ours/errors"; }
    grep -q '"randomized": "yes"' "$work/report" || fail "$title: seed $seed: not randomized"
  done
  [ "$(directive "$file" stubs)" = no ] || [ "$(run "$work/ours" strict=1:seed=8:label_stubs=1)" = "$expected" ] || fail "$title: with stubs for labels"
  for strip in strip llvm-strip-19; do
    cp "$work/ours/program" "$work/ours/kept"
    $strip "$work/ours/program" 2>"$work/log" || fail "$title: $strip: $(cat "$work/log")"
    [ "$(run "$work/ours" strict=1:seed=9)" = "$expected" ] || fail "$title: after $strip"
    cp "$work/ours/kept" "$work/ours/program"
  done
}

for file in "$programs"/*.c "$programs"/*.cpp; do
  [ -n "$(directive "$file" variants)" ] || continue
  [ $# -eq 0 ] || [[ " $* " == *" $(basename "$file") "* ]] || continue
  compilers=$(directive "$file" compilers)
  IFS='|' read -ra variants <<<"$(directive "$file" variants)"
  for compiler in ${compilers:-szc}; do
    for flags in "${variants[@]}"; do check "$file" "$flags" "$compiler"; done
  done
done
echo "$tests variants, $failures failures"
[ "$failures" -eq 0 ]
