#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# stab-lines over programs that clang made: each version of DWARF, inlined code, separate debug files,
# scopes, and files that are damaged.
set -euo pipefail
. "$1/tests/lib.sh"
lines=$2/bin/stab-lines
cd "$work"
fail() { echo "$*"; exit 1; }

# stab-lines needs libLLVM; stabd and stabctl must not, so that they work where szc is not installed.
readelf -d "$lines" | grep -q 'NEEDED.*libLLVM' || fail "stab-lines doesn't need libLLVM"
for program in stabd stabctl; do
  needed=$(readelf -d "$2/bin/$program")
  grep -q 'NEEDED.*libelf' <<<"$needed" || fail "the libraries of $program were not found: $needed"
  ! grep -q 'NEEDED.*libLLVM' <<<"$needed" || fail "$program needs libLLVM"
done

mkdir src other
cat >src/main.c <<'END'
#include "../other/inner.h"
volatile int sink, seen;
int main(int argc, char** argv) {
  (void)argv;
  for (int i = 0; i < argc; ++i)
    sink += inner(i);
  return 0;
}
END
cat >other/inner.h <<'END'
extern volatile int seen;
static inline __attribute__((always_inline)) int inner(int x) {
  seen = x * 17;
  return x;
}
END

# How many bytes the map gives to a line.
bytes_of() {
  local index bytes=0 size
  index=$(grep ^line "$1" | grep -n "$2$" | cut -d: -f1)
  while read -r size; do bytes=$((bytes + 16#$size)); done \
    < <(awk -F '\t' -v line=$((index - 1)) '$1 == "range" && $4 == line { print $3 }' "$1")
  echo $bytes
}

for version in 2 3 4 5; do
  clang-22 -O1 -gdwarf-$version -o p$version "$work/src/main.c"
  "$lines" --scope '*.[ch]' p$version >map$version
  grep -q "^object	1	p$version$" map$version || fail "DWARF $version: no object"
  for line in src/main.c:5 src/main.c:6 other/inner.h:3; do
    grep -q "^line	$work/$line$" map$version || fail "DWARF $version: no $line"
  done
  # Ranges ascend and do not overlap.
  awk -F '\t' '$1 == "range" { print $2, $3 }' map$version | while read -r start size; do
    ((16#$start >= ${end:-0})) || fail "DWARF $version: ranges overlap"
    end=$((16#$start + 16#$size))
  done
  # Inlined code belongs to the innermost line in scope.
  "$lines" --scope main.c p$version >only
  ! grep -q inner.h only || fail "DWARF $version: inner.h is out of scope"
  grep -q "^line	$work/src/main.c:6$" only || fail "DWARF $version: no caller of inlined code"
  whole=$(($(bytes_of map$version main.c:6) + $(bytes_of map$version inner.h:3)))
  [[ $(bytes_of map$version inner.h:3) -gt 0 && $(bytes_of only main.c:6) -eq $whole ]] ||
    fail "DWARF $version: inlined code is not its caller's"
done

# Sources below the current directory are in scope, or what is not of the system.
(cd src && "$lines" ../p5) >here
grep -q "src/main.c" here || fail "nothing below the current directory"
! grep -q "inner.h" here || fail "inner.h is not below the current directory"
(cd /proc && "$lines" "$work/p5") >all
grep -q "inner.h" all || fail "all sources that are not of the system"
! grep -q "^line	/usr/" all || fail "the system's sources"

# Separate debug information, by its link and by name of the folder .debug.
cp p5 whole
objcopy --only-keep-debug p5 p5.debug
strip --strip-debug p5
"$lines" --scope main.c p5 | grep -q "^object	0	p5" || fail "stripped: there are lines"
objcopy --add-gnu-debuglink=p5.debug p5
"$lines" --scope main.c p5 >linked
"$lines" --scope main.c whole | grep ^range >wanted
[[ $(grep ^range linked) == "$(cat wanted)" ]] || fail "the debug link is not followed"
mkdir .debug && mv p5.debug .debug/
"$lines" --scope main.c p5 | grep ^range | cmp - wanted || fail ".debug is not looked at"
# Of another build it is none of this object's.
clang-22 -O1 -g -Wl,--build-id -DOTHER -o linked_id "$work/src/main.c"
objcopy --only-keep-debug linked_id .debug/p5.debug
clang-22 -O2 -g -Wl,--build-id -o mine "$work/src/main.c"
strip --strip-debug mine
cp .debug/p5.debug mine.debug
objcopy --add-gnu-debuglink=mine.debug mine
"$lines" --scope main.c mine >another
grep -q "^object	0	mine" another || fail "lines of another build"
grep -q "^stranger	$work/mine.debug$" another || fail "the file of another build is not named"
# Without build ids it is the checksum of the debug link that tells.
clang-22 -O1 -g -Wl,--build-id=none -o old "$work/src/main.c"
objcopy --only-keep-debug old old.debug
strip --strip-debug old
objcopy --add-gnu-debuglink=old.debug old
"$lines" --scope main.c old | grep -q "^object	1	old" || fail "no lines of a file with this checksum"
clang-22 -O2 -g -Wl,--build-id=none -o newer "$work/src/main.c"
objcopy --only-keep-debug newer old.debug
"$lines" --scope main.c old >another
grep -q "^object	0	old" another || fail "lines of a file with another checksum"
grep -q "^stranger	$work/old.debug$" another || fail "the file with another checksum is not named"

# Each file that decides the map is named as it is, or with zeros if it is missing.
names() { awk -F '\t' -v path="$2" '$1 == "file" && $7 == path { print $2, $3, $4 }' "$1"; }
[[ $(names linked p5) == "$(stat -c '%d %i %s' p5)" ]] || fail "the object is not named"
[[ -n $(names linked "$work/p5.debug") ]] || fail "the debug file is not named"
"$lines" --scope main.c mine >without
[[ $(names without "$work/mine.debug") == "$(stat -c '%d %i %s' mine.debug)" ]] ||
  fail "a debug file of another build is not named"
[[ $(names without "$work/.debug/mine.debug") == "0 0 0" ]] || fail "a missing file is not named"
for version in 4 5; do
  clang-22 -O1 -gdwarf-$version -gsplit-dwarf -c -o split.o "$work/src/main.c"
  clang-22 -o split split.o
  "$lines" --scope main.c split >divided
  [[ $(names divided "$work/split.dwo") == "$(stat -c '%d %i %s' split.dwo)" ]] ||
    fail "DWARF $version: the file of split debug information is not named"
  [[ $(names divided split.dwp) == "0 0 0" ]] || fail "DWARF $version: a missing package is not named"
done

# By the build id, below /usr/lib/debug.
id=$(readelf -n mine | sed -n 's/.*Build ID: //p')
clang-22 -O2 -g -Wl,--build-id -o mine_whole "$work/src/main.c"
[[ $(readelf -n mine_whole) == *"$id"* ]] || fail "a second build has another id"
mkdir -p "system/.build-id/${id:0:2}"
objcopy --only-keep-debug mine_whole "system/.build-id/${id:0:2}/${id:2}.debug"
rm mine.debug
with_system() { unshare -m bash -c 'mount --bind system /usr/lib/debug && exec "$@"' bash "$@"; }
if [[ -d /usr/lib/debug ]] && with_system true 2>/dev/null; then
  "$lines" --scope main.c mine_whole | grep ^range >wanted
  with_system "$lines" --scope main.c mine >by_id
  [[ $(grep ^range by_id) == "$(cat wanted)" ]] || fail "the build id is not followed"
  # A file of this name that is another's, or that says nothing of whose it is.
  for other in linked_id newer; do
    objcopy --only-keep-debug $other "system/.build-id/${id:0:2}/${id:2}.debug"
    with_system "$lines" --scope main.c mine >by_id
    grep -q "^object	0	mine" by_id || fail "$other: lines of another build by the build id"
  done
else
  skipped "debug files by build id: it takes the right to mount"
fi

# What is wrong is said.
refused() {
  ! "$lines" "$@" >out 2>err || fail "$*: not refused"
  [[ ! -s out ]] || fail "$*: something is printed"
  cat err
}
[[ $(refused) == *usage* ]] || fail "no usage"
[[ $(refused none) == *"cannot read none"* ]] || fail "a file that is not there"
echo hello >text
[[ $(refused text) == *"cannot read text"* ]] || fail "a text"

# Damaged files end in an error or a map, in time, and not in a crash.
# Of a thousand such files three made LLVM crash.
for seed in {1..60}; do
  RANDOM=$seed
  cp whole damaged
  for _ in {1..20}; do
    printf "\\x$(printf %x $((RANDOM % 256)))" |
      dd of=damaged bs=1 seek=$((RANDOM % $(stat -c %s whole))) conv=notrunc status=none
  done
  code=0
  timeout 60 "$lines" --scope '*.[ch]' damaged >out 2>/dev/null || code=$?
  [[ $code -le 1 ]] || fail "a damaged file, seed $seed: exit code $code"
done
