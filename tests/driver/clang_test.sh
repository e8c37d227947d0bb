#!/bin/bash
# SPDX-License-Identifier: MIT
# What szc shows is what clang shows: exit status, output, messages and files.
source "$(dirname "$0")/lib.sh"

cat >a.c <<'C'
#include <stdio.h>
#ifndef TEXT
#define TEXT "plain"
#endif
int b(void);
int main(void) { printf("%s %d\n", TEXT, b()); return 3; }
C
echo 'int b(void) { return 7; }' >b.c
echo 'int b(void) { int unused; return 7; }' >warns.c
echo 'void use(char *); int f(void) { char a[100]; use(a); return a[3]; }' >frame.c
cat >frames.c <<'C'
#include <setjmp.h>
void use(char *);
int f(int);
jmp_buf place;
int wide(void) { char a[100] __attribute__((aligned(64))); use(a); return a[3]; }
int list(int n, ...) { return f(n) + 1; }
int back(int n) { return setjmp(place) ? f(n) : f(n + 1); }
int main(int n, char **words) { for (int i = 0; i < n; ++i) use(words[i]); while (f(n)) use(words[n]); return n; }
C
echo 'int b(void) { return ' >broken.c
echo 'template <class T> T twice(T x) { return x + x; } int main() { return twice(2); }' >t.cc
printf '\t.globl b\n\t.type b,@function\nb:\tmovl $7, %%eax\n\tret\n\t.size b, .-b\n\t.section .note.GNU-stack,"",@progbits\n' >s.s
printf '#define N 7\n\t.globl b\nb:\tmovl $N, %%eax\n\tret\n\t.section .note.GNU-stack,"",@progbits\n' >S.S

# same NAME ARGUMENTS...: clang and szc in folders of their own.
same() { compare "$1" clang-22 "$szc" "${@:2}"; }
samexx() { compare "$1" clang++-22 "$szcxx" "${@:2}"; }
compare() {
  local name=$1 reference=$2 ours=$3 side
  shift 3
  rm -rf reference ours
  for side in reference ours; do
    mkdir $side
    cp ./*.c ./*.cc ./*.s ./*.S $side
    (cd $side && ${!side} "$@" >.stdout 2>.stderr </dev/null; echo $? >.status)
    sed -i -e 's/-[0-9a-f]\{6\}\.\([os]\)/-TMP.\1/g' $side/.stdout $side/.stderr
  done
  for file in .status .stdout .stderr; do
    cmp -s reference/$file ours/$file || { fail "$name: $file differs"; diff reference/$file ours/$file | head >&2; }
  done
  equal "$name: files" "$(cd reference && ls)" "$(cd ours && ls)"
}
# runs NAME STATUS OUTPUT: what a.out of the last comparison does.
runs() {
  local output
  output=$(./ours/a.out)
  equal "$1: status" "$?" "$2"
  equal "$1: output" "$output" "$3"
}

same 'no input'
samexx 'no input for C++'
same 'version' --version
samexx 'version of C++' --version
same 'only -v' -v
for question in -print-prog-name=ld -print-file-name=libc.so -print-search-dirs -print-libgcc-file-name -print-target-triple -print-resource-dir \
  -print-multiarch -dumpmachine -dumpversion; do
  same "question $question" $question
done
same 'two sources' a.c b.c
runs 'two sources' 3 'plain 7'
same 'two sources and -o' a.c b.c -o prog
same 'joined -o' a.c b.c -oprog
same 'two sources, two objects' -c a.c b.c
same 'one -o for two objects is an error' -c a.c b.c -o x.o
same 'assembly' -S b.c
same 'preprocessed' -E b.c
same 'preprocessed to a file' -E b.c -o b.i
same 'dependencies' -M b.c
same 'dependencies without system headers' -MM a.c
same 'dependency file' -c -MD -MF b.d b.c
same 'syntax only' -fsyntax-only a.c b.c
same 'LLVM assembly' -S -emit-llvm -O2 t.cc -fno-ident
same 'assembler input' a.c s.s
runs 'assembler input' 3 'plain 7'
same 'preprocessed assembler input' -c S.S
same 'a missing file' nowhere.c
same 'a broken file' -c broken.c
same 'a flag that does not exist' -fno-such-flag b.c
same 'an undefined symbol' -fuse-ld=lld a.c
same 'warnings of the user' -Wall -c warns.c
same 'warnings as errors' -Wall -Werror -c warns.c
# Frames that are larger only because of szc are below the limit.
for flags in -O0 -O2 '-O2 -fstack-protector-strong'; do
  for mode in frame table; do
    # shellcheck disable=SC2086
    STAB_STACK=$mode same "a limit of frames, $flags, $mode" $flags -Wframe-larger-than=180 -Werror -c frame.c frames.c
  done
done
refute 'a frame above the limit' "$szc" -O2 -Wframe-larger-than=64 -Werror -c frame.c
has 'a frame above the limit' .err 'exceeds limit'
same 'an unused flag is still said to be unused' -c b.c -Lfolder
same 'an unused flag of the linker, as an error' -Werror -c b.c -Wl,-z,now
same 'an unused library at -c' -c b.c -lm
same 'quoting' '-DTEXT="a b"' a.c b.c
runs 'quoting' 3 'a b 7'
same 'the output is a folder that is not there' -fuse-ld=lld a.c b.c -o none/prog
same 'a library that is not there' -fuse-ld=lld a.c b.c -lnosuchlibrary
same 'quiet about nothing' -w -c b.c
same 'LTO' -flto a.c b.c
runs 'LTO' 3 'plain 7'
same 'ThinLTO' -flto=thin -O2 a.c b.c
runs 'ThinLTO' 3 'plain 7'
same 'the linker is asked' -fuse-ld=lld -Wl,--version
same 'relocatable output' -r a.c b.c -o ab.o
same 'the frontend itself' -cc1 -version
same 'another language' -x c++ -c b.c
samexx 'C++' t.cc
same 'another standard' -std=c89 -pedantic -Wall -c a.c
same 'a module of another target' --target=aarch64-linux-gnu -S b.c
same 'a debug build' -g -O0 a.c b.c
same 'a linker that is not there' -fuse-ld=nosuchlinker a.c b.c

# What clang would run differs by our flags only; that each part is the same is seen above.
"$szc" '-###' a.c >out 2>&1
has '-### shows the commands' out '"-cc1"'
has '-### shows the linker' out 'ld.stab'
equal '-### makes nothing' "$(ls a.out 2>/dev/null)" ''

# Standard input.
for side in clang-22 "$szc"; do
  printf 'int main(void) { return 5; }' | $side -x c - -o stdin_prog
  ./stdin_prog
  equal "standard input with $side" $? 5
  echo 'X' | $side -E -DX=found - | tail -n 1 >out
  has "-E of standard input with $side" out found
done

# Response files: nested and quoted.
printf '%s\n' '-DTEXT="\"in a file\""' '@inner.rsp' >outer.rsp
echo 'a.c "b.c"' >inner.rsp
same_response() { "$szc" @outer.rsp -o response && ./response; }
output=$(same_response)
equal 'response file' "$output" 'in a file 7'
echo '--stab-quiet -fuse-ld=bfd @inner.rsp -DTEXT="\"own flag\""' >own.rsp
output=$("$szc" @own.rsp -o response 2>&1 && ./response)
equal 'own flag in a response file' "$output" 'own flag 7'
same 'a response file that is not there' @nowhere.rsp
# A pipe, which can be read only once.
for try in 1 2 3 4 5; do
  equal "a response file that is a pipe, $try" "$("$szc" @<(echo -dumpversion))" "$(clang-22 -dumpversion)"
done
output=$("$szc" a.c b.c @<(echo -o response '-DTEXT=\"piped\"') && ./response)
equal 'flags in a pipe' "$output" 'piped 7'
# Longer than a kernel takes in a command line, with flags of ours in it: compiled, and linked by lld.
{
  echo '--stab-quiet -DTEXT="\"a long file\"" -O1'
  awk 'BEGIN { for (i = 0; i < 100; i++) pad = pad "x"; for (i = 0; i < 40000; i++) printf "-DM%d=%s\n-L/nowhere/%d/%s\n", i, pad, i, pad }'
} >long.rsp
[ "$(wc -c <long.rsp)" -gt 8000000 ] || fail 'a very long response file: it is short'
expect 'a very long response file' "$szc" @long.rsp @inner.rsp -o long
equal 'a very long response file' "$(./long)" 'a long file 7'
moves 'a very long response file' long
# gcc takes as many inputs, but not as many flags.
ar rcs libnothing.a
{
  echo '--stab-quiet -DTEXT="\"a long file\""'
  awk 'BEGIN { for (i = 0; i < 100; i++) pad = pad "./"; for (i = 0; i < 15000; i++) print pad "libnothing.a" }'
} >link.rsp
if have gcc; then
  expect 'a very long response file, gcc' "$szc" --stab-cc=gcc @link.rsp @inner.rsp -o longer
  equal 'a very long response file, gcc' "$(./longer)" 'a long file 7'
  moves 'a very long response file, gcc' longer
fi
# An argument with each character that means something in a response file.
printf '%s\n' 'int puts(const char *); int main(void) { puts(TEXT); return 0; }' >odd.c
odd='a "b" \ '"'c'"' @d	e'
pad=$(head -c 120000 /dev/zero | tr '\0' x)
expect 'odd characters' "$szc" --stab-quiet -DPAD="$pad" -DTEXT="\"$(sed 's/["\\]/\\&/g' <<<"$odd")\"" odd.c -o odd
equal 'odd characters' "$(./odd)" "$odd"

# Link-only calls, archives, shared libraries.
"$szc" -c a.c b.c && ar rcs libb.a b.o
expect 'link only' "$szc" a.o b.o -o linked
expect 'archive' "$szc" a.o libb.a -o linked
expect 'archive by -l' "$szc" a.o -L. -lb -o linked
./linked >out
has 'archive by -l' out 'plain 7'
expect 'shared library' "$szc" -shared -fPIC b.c -o libshared.so
expect 'program with a shared library' "$szc" a.c ./libshared.so -o linked
./linked >out
has 'program with a shared library' out 'plain 7'
for name in gcc clang-22; do
  have $name || continue
  $name -c b.c -o other.o
  expect "object of $name" "$szc" a.c other.o -o linked
  ./linked >out
  has "object of $name" out 'plain 7'
done

# A signal that ends clang, or the linker, ends szc in the same way.
printf '#!/bin/sh\nkill -SEGV $$\n' >crash && chmod +x crash
STAB_CLANG=$PWD/crash bash -c '"$0" -c b.c; exit $?' "$szc" 2>/dev/null
equal 'a crash of clang' $? 139
printf '#!/bin/sh\nkill -SEGV $$\n' >ld.crash && chmod +x ld.crash
for side in clang-22 "$szc"; do
  $side --ld-path="$PWD/ld.crash" a.c b.c -o x 2>"err.$(basename $side)"
  equal "a crash of the linker with $side" $? 1
done
grep -v '^szc: note' err.szc | sed 's/[^ ]*-[0-9a-f]*\.o//g' >ours.err
sed 's/[^ ]*-[0-9a-f]*\.o//g' err.clang-22 >reference.err
cmp -s ours.err reference.err || { fail 'message of a crashed linker'; diff reference.err ours.err >&2; }

# Another clang.
printf '#!/bin/sh\necho "$@" >>%s/called\nexec clang-22 "$@"\n' "$PWD" >myclang && chmod +x myclang
STAB_CLANG=$PWD/myclang "$szc" -c b.c && has 'STAB_CLANG' called 'b.c'
STAB_CLANG='env A=1 clang-22' expect 'STAB_CLANG as a command' "$szc" -c b.c
STAB_CLANG=/nowhere/clang refute 'STAB_CLANG that is not there' "$szc" -c b.c
has 'STAB_CLANG that is not there' .err 'STAB_CLANG'
STAB_CLANG=clang-22 expect 'STAB_CLANG for C++' "$szcxx" t.cc

# A compiler that is neither clang nor gcc is refused with its own words, before it sees a flag of clang's.
printf '#!/bin/sh\n[ "$1" != --version ] || { echo "tcc version 0.9.27"; exit 0; }\necho called >>%s/others\n' "$PWD" >mytcc && chmod +x mytcc
for variable in STAB_CC STAB_CLANG; do
  other=$variable=$PWD/mytcc
  refute "$other" env "$other" "$szc" -c b.c
  equal "$other: lines" "$(grep -c . .err)" 1
  has "$other" .err 'is neither clang nor gcc: its --version prints'
  has "$other: what to do" .err 'Set STAB_CC to a clang or a gcc, such as clang-22'
done
[ ! -e others ] || fail 'another compiler was called'

# A clang of another version gets no pass: functions move, and one line at the link and each report says why frames have no pads.
printf '#!/bin/sh\n[ "$1" != --version ] || { echo "Debian clang version 15.0.7 (1)"; exit 0; }\necho "$@" >>%s/older.called\nexec clang-22 "$@"\n' "$PWD" >older && chmod +x older
export STAB_CLANG=$PWD/older
expect 'an older clang, object' "$szc" -c a.c b.c
[ ! -s .err ] || { fail 'an older clang, object: speaks'; cat .err >&2; }
expect 'an older clang' "$szc" a.c b.c -o linked
lacks 'an older clang gets the pass' older.called pass-plugin
equal 'an older clang: lines' "$(grep -c . .err)" 1
has 'an older clang: which' .err 'is Debian clang version 15.0.7'
has 'an older clang: what to do' .err 'szc has passes for clang 16, 19 or 22. Functions still move. To get pads, set STAB_CC to one of these compilers'
moves 'an older clang' linked
expect 'an older clang without pads' "$szc" --stab-stack=off a.c b.c -o linked
STABILIZER_OPTIONS=stack=1:report=report ./linked >/dev/null
has 'an older clang: the report' report '"padded": 0'
has 'an older clang: the report' report '"why_no_pads": "no stack frame of the executable has a pad, because szc could not add any (szc --stab-version lists the versions of clang that make room'
for silent in '--stab-quiet -o linked' '--stab-off -o linked' '-o conftest' '--stab-stack=off -o linked'; do
  # shellcheck disable=SC2086
  expect "an older clang, $silent" "$szc" a.c b.c $silent
  [ ! -s .err ] || { fail "an older clang, $silent: speaks"; cat .err >&2; }
done
unset STAB_CLANG
expect 'the pass' "$szc" a.c b.c -o linked
rm report
STABILIZER_OPTIONS=stack=1:report=report ./linked >/dev/null
lacks 'the pass: the report' report why_no_pads
expect 'the version that gets pads' "$szc" --stab-version
has 'the versions that get pads' .out 'pads: for clang 16, 19 or 22'

# Through a symbolic link, and without /proc the path serves.
ln -s "$szc" mycc
expect 'a symbolic link to szc' ./mycc a.c b.c -o linked
finish
