# SPDX-License-Identifier: MIT
# How the programs of this folder are built and run; read by scripts that set source_directory and build_directory, and
# own_flags if szc is to be called with some that clang does not get.
# Directives stand in the programs' comments:
#   variants: flags | flags      each is built           sources: other files
#   library: / plain_library:    shared, by szc / clang  module: for dlopen
#   link: flags                  compilers: szc gcc      gcc compiles, szc links
# The programs named epoch_* fill a time of their own, HAZARD_MS (hazard.h). The others are short: REPEAT (repeat.c).
programs=$source_directory/tests/programs
szc=${SZC:-$build_directory/bin/szc}
clang=${STAB_CLANG:-clang-22}

# directive FILE NAME: the text of that directive, from directives if they are of this file.
declare -A directives=()
directives_of=
read_directives() {
  local line
  directives=() directives_of=$1
  while IFS= read -r line; do
    [[ ! $line =~ ^//\ ([a-z_]+):\ *(.*)$ ]] || : "${directives[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}}"
  done <"$1"
}
directive() {
  [[ $directives_of == "$1" ]] || read_directives "$1"
  [[ ! ${directives[$2]-} ]] || printf '%s\n' "${directives[$2]}"
}
fills_its_time() { [[ $(basename "$1") == epoch_* ]]; }

# variants_of [PROGRAM...]: a line "file|compiler|flags" for each variant of these programs, or of all.
variants_of() {
  local file compiler flags
  for file in "$programs"/*.c "$programs"/*.cpp; do
    [ $# -eq 0 ] || [[ " $* " == *" ${file##*/} "* ]] || continue
    read_directives "$file"
    [ -n "$(directive "$file" variants)" ] || continue
    for compiler in $(directive "$file" compilers | grep . || echo szc); do
      while read -r flags; do echo "$file|$compiler|$flags"; done < <(directive "$file" variants | tr '|' '\n')
    done
  done
}

# driver FILE NAME: NAME, or NAME++ for C++.
driver() { case $1 in *.cpp) case $2 in *-[0-9]*) echo "${2%-*}++-${2##*-}" ;; gcc) echo g++ ;; *) echo "$2++" ;; esac ;; *) echo "$2" ;; esac; }

without_linking() { echo "$*" | sed 's/-no-pie//; s/-Wl,[^ ]*//g; s/-static-lib[a-z+]*//g'; }

# repeat_object FOLDER FLAGS: sets repeat to repeat.c's object for programs that are linked so; all of scratch share it.
repeat_object() {
  local pie=-fpie
  [[ $2 != *-no-pie* ]] || pie=-fno-pie
  repeat=${scratch:-$1}/repeat$pie.o
  [ -e "$repeat" ] || { "$clang" $pie -O2 -c -o "$repeat.$BASHPID" "$programs/repeat.c" && mv "$repeat.$BASHPID" "$repeat"; }
}

# build FOLDER PROGRAM COMPILER LINKER FLAGS: FOLDER/program and its libraries.
build() {
  local folder=$1 file=$2 compiler=$3 linker=$4 flags=$5 objects="" extra="" part own=""
  [ "$linker" != "$szc" ] || own=${own_flags-}
  mkdir -p "$folder"
  [[ $directives_of == "$file" ]] || read_directives "$file"
  local compile_flags
  compile_flags=$(without_linking "$flags")
  for part in $(directive "$file" library) $(directive "$file" module); do
    local library_flags
    library_flags=$(echo "$compile_flags" | sed 's/-fno-pie//; s/-ftls-model=[a-z-]*//')
    local output=$folder/${part%.*}.so
    $(driver "$part" "$linker") $own $library_flags -w -fPIC -shared -o "$output" "$programs/$part" || return 1
  done
  part=$(directive "$file" plain_library)
  [ -z "$part" ] || $(driver "$part" "$clang") $compile_flags -w -fPIC -shared -o "$folder/${part%.*}.so" "$programs/$part" || return 1
  for part in $(directive "$file" library) $(directive "$file" plain_library); do extra="$extra $folder/${part%.*}.so"; done
  for part in $(basename "$file") $(directive "$file" sources); do
    $(driver "$part" "$compiler") $([ "$compiler" = gcc ] || echo $own) $compile_flags -w "-I$build_directory/include" -c -o "$folder/$part.o" "$programs/$part" || return 1
    objects="$objects $folder/$part.o"
  done
  if ! fills_its_time "$file"; then
    repeat_object "$folder" "$flags" || return 1
    extra="$extra $repeat -Wl,--wrap=__libc_start_main"
  fi
  $(driver "$file" "$linker") $own $flags -o "$folder/program" $objects $extra $(directive "$file" link) -rdynamic -fuse-ld=lld \
    "-Wl,-rpath,$folder" || return 1
}

# build_both FOLDER PROGRAM COMPILER FLAGS: FOLDER/plain by clang, FOLDER/ours by szc. When it fails, one line says which.
build_both() { build_plain "$@" && build_ours "$@"; }
build_plain() {
  local folder=$1 file=$2 compiler=$3 flags=$4 reference=$clang
  [ "$compiler" != gcc ] || reference=gcc
  rm -rf "$folder/plain"
  mkdir -p "$folder"
  build "$folder/plain" "$file" "$reference" "$clang" "$flags" >"$folder/log" 2>&1 || { tail -5 "$folder/log"; echo "clang does not build it"; return 1; }
}
build_ours() {
  local folder=$1 file=$2 compiler=$3 flags=$4 with=$szc
  [ "$compiler" != gcc ] || with=gcc
  rm -rf "$folder/ours"
  mkdir -p "$folder"
  build "$folder/ours" "$file" "$with" "$szc" "$flags" >"$folder/log" 2>&1 || { tail -5 "$folder/log"; echo "szc does not build it"; return 1; }
}

# run FOLDER OPTIONS: output and exit status of FOLDER/program.
run() {
  (
    cd "$1" || exit
    STABILIZER_OPTIONS=$2 timeout 300 ./program >output 2>errors </dev/null
    echo "exit $?" >>output
  ) 2>/dev/null
  cat "$1/output"
}
