#!/bin/bash
# SPDX-License-Identifier: MIT
# What szc links: instrumented where that is possible, else left alone with one line that says why.
source "$(dirname "$0")/lib.sh"

cat >main.c <<'C'
#include <stdio.h>
static int helper(int x) { return x * 2 + 1; }
int main(int argc, char **argv) { (void)argv; printf("%d\n", helper(argc)); return 0; }
C
echo 'int lib(int x) { return x + 1; }' >lib.c
echo 'int main() { try { throw 42; } catch (int x) { return x - 42; } }' >throws.cc
printf 'void _start(void) { __asm__ volatile("mov $60, %%eax; mov $9, %%edi; syscall"); }\n' >bare.c
echo '{ global: *; };' >all.map
echo 'VERSION_1 { local: *; };' >none.map

# works NAME ARGUMENTS...: links to prog, which runs and is randomized, without a word on stderr.
works() {
  local name=$1
  shift
  rm -f prog
  expect "$name" "$@" -o prog
  [ ! -s .err ] || { fail "$name: speaks"; cat .err >&2; }
  [ ! -e prog ] || moves "$name" prog
  expect "$name: runs" ./prog
}

# left NAME WHY ARGUMENTS...: links to prog, which is not randomized; one line says so, none if quiet or a probe;
# --stab-strict makes it an error.
left() {
  local name=$1 why=$2
  shift 2
  rm -f prog
  expect "$name" "$@" -o prog
  equal "$name: lines" "$(grep -c . .err)" 1
  has "$name: why" .err "$why"
  stays "$name" prog
  expect "$name: quiet" "$@" -o prog --stab-quiet
  [ ! -s .err ] || fail "$name: --stab-quiet speaks"
  expect "$name: probe" "$@" -o conftest
  [ ! -s .err ] || fail "$name: a probe speaks"
  expect "$name: off" "$@" -o prog --stab-off
  [ ! -s .err ] || fail "$name: --stab-off speaks"
  refute "$name: strict" "$@" -o prog2 --stab-strict
  [ ! -e prog2 ] || fail "$name: --stab-strict leaves a file"
}
runs() { ./prog >.out 2>&1; equal "$1: status" $? "${2:-0}"; }

works 'a program' "$szc" main.c
works 'optimized' "$szc" -O2 main.c
works 'for size' "$szc" -Oz main.c
works 'position dependent' "$szc" -no-pie -fno-pie main.c
works 'PIE' "$szc" -pie -fPIE main.c
works 'C++' "$szcxx" throws.cc
works 'LTO' "$szc" -flto -O2 main.c
works 'ThinLTO' "$szc" -flto=thin -O2 main.c
works 'linker flags' "$szc" main.c -Wl,-z,now -Wl,-z,relro -Xlinker --gc-sections -Wl,-O2
works 'explicit lld' "$szc" -fuse-ld=lld main.c
works 'no choice of a linker' "$szc" -fuse-ld= main.c
works 'static C++ runtime' "$szcxx" -static-libstdc++ -static-libgcc throws.cc
works 'version script' "$szc" main.c -Wl,--version-script=none.map
works 'exceptions under a version script' "$szcxx" throws.cc -Wl,--version-script=none.map
works 'anonymous version script' "$szcxx" throws.cc -Wl,--version-script=all.map
works 'coverage' "$szc" --coverage main.c
works 'profile' "$szc" -fprofile-instr-generate -fcoverage-mapping main.c
works 'undefined behaviour checks' "$szc" -fsanitize=undefined main.c
works 'control-flow protection' "$szc" -fcf-protection main.c
works 'stripped' "$szc" -s main.c
equal 'stripped: symbols' "$(nm prog 2>/dev/null)" ''
works 'stripped, with temporary files' "$szc" -Wl,--save-temps,-s main.c
equal 'stripped, with temporary files: symbols' "$(nm prog 2>/dev/null)" ''
works 'embedded bitcode' "$szc" -fembed-bitcode -O1 main.c
works 'without debug information' "$szc" -g -Wl,-S main.c
lacks 'without debug information' <(readelf -SW prog) .debug_info
works 'without local symbols' "$szc" -Wl,-x main.c
ld.bfd --verbose | sed -n '/^====/,/^====/p' | grep -v '^====' >default.ld
works 'a linker script' "$szc" main.c -no-pie -T default.ld
works 'relocations of the user' "$szc" --stab-quiet main.c -Wl,-q
works 'without startup optimizations' "$szc" -O0 -g main.c
works 'noisy warnings stay off' "$szc" -Wall -Wextra -Werror main.c
works 'compressed debug information' "$szc" -g -gz main.c
works 'unused inputs of the linker' "$szc" main.c -Wl,--as-needed -lm

for flag in '' -Wl,-Bsymbolic -Wl,-Bsymbolic-functions -nostdlib -Wl,-z,nodelete; do
  expect "shared library $flag" "$szc" -shared -fPIC lib.c $flag -o lib.so
  [ ! -s .err ] || fail "shared library $flag: speaks"
  moves "shared library $flag" lib.so
done
expect 'shared library with a version script' "$szc" -shared -fPIC lib.c -Wl,--version-script=none.map -o lib.so
moves 'shared library with a version script' lib.so
expect 'undefined names in a version script, as GNU ld does' "$szc" -shared -fPIC lib.c -o lib.so \
  -Wl,--version-script=<(echo '{ global: lib; nosuchname; local: *; };')
expect 'relocatable' "$szc" -r main.c lib.c -o both.o
[ ! -s .err ] || fail 'relocatable: speaks'
works 'relocatable, linked' "$szc" both.o
expect 'objects' "$szc" -c main.c lib.c
expect 'relocatable, by words from a pipe' "$szc" -r -Wl,@<(echo main.o lib.o) -o piped.o
works 'relocatable, by words from a pipe, linked' "$szc" piped.o

left 'static' 'statically' "$szc" -static main.c
runs 'static'
left 'static PIE' 'statically' "$szc" -static-pie main.c
runs 'static PIE'
left 'no standard library' 'without the C library' "$szc" -nostdlib bare.c
runs 'no standard library' 9
left 'no startup files' 'startup files' "$szc" -nostartfiles bare.c
runs 'no startup files' 9
left 'GNU ld' 'ld.bfd' "$szc" -fuse-ld=bfd main.c
runs 'GNU ld'
left 'gold' 'ld.gold' "$szc" -fuse-ld=gold main.c
left "clang's default linker" 'the linker is ld, not lld' "$szc" -fuse-ld=ld main.c
mkdir lld_as_ld && ln -s "$(command -v ld.lld-22)" lld_as_ld/ld
PATH=$PWD/lld_as_ld:$PATH works "clang's default linker is lld" "$szc" -fuse-ld=ld main.c
works 'lld by a path that does not say so' "$szc" --ld-path="$PWD/lld_as_ld/ld" main.c
have mold && left 'mold' 'ld.mold' "$szc" -fuse-ld=mold main.c && runs 'mold'
left 'another linker by path' 'ld.bfd' "$szc" --ld-path="$(command -v ld.bfd)" main.c
left 'AddressSanitizer' '-fsanitize=address' "$szc" -fsanitize=address main.c
runs 'AddressSanitizer'
left 'ThreadSanitizer' '-fsanitize=thread' "$szc" -fsanitize=thread main.c
left 'MemorySanitizer' '-fsanitize=memory' "$szc" -fsanitize=memory main.c
left 'LeakSanitizer' '-fsanitize=leak' "$szc" -fsanitize=leak main.c
left 'gprof' '-pg' "$szc" -pg main.c
left 'XRay' '-fxray-instrument' "$szc" -fxray-instrument main.c
runs 'XRay'
left 'other word size' 'elf_i386' "$szc" -m32 -nostdlib -ffreestanding bare.c
expect 'other target' "$szc" --target=aarch64-linux-gnu -nostdlib -ffreestanding -fuse-ld=lld lib.c -o prog
has 'other target: says so' .err aarch64
expect 'other target, compile only' "$szc" --target=aarch64-linux-gnu -c lib.c
[ ! -s .err ] || fail 'other target: compile only speaks'

# A note about the code's bounds is said once, and neither with --stab-quiet nor in a configure probe, even if errors are shown.
echo 'extern char etext; int main(void) { const char *volatile end = &etext; return end == 0; }' >bounds.c
expect 'a bound of the code' "$szc" --stab-strict bounds.c -o bounds
has 'a bound of the code: says so' .err 'bounds uses etext, a bound of its code'
expect 'a bound of the code, quiet' "$szc" --stab-strict --stab-quiet bounds.c -o bounds
[ ! -s .err ] || fail "a bound of the code, quiet: $(cat .err)"
expect 'a bound of the code, probe' "$szc" --stab-strict bounds.c -o conftest
[ ! -s .err ] || fail "a bound of the code, probe: $(cat .err)"

# The baseline: nothing of ours in it, the same code, the same linker.
expect 'off' "$szc" --stab-off -O2 main.c -o prog
stays 'off' prog
# szc links plainly, without a word, the programs and libraries that cargo runs while it builds.
expect "cargo's build script" "$szc" --stab-strict -O2 main.c -o build_script_build-0123456789abcdef
[ ! -s .err ] || { fail "cargo's build script: speaks"; cat .err >&2; }
stays "cargo's build script" build_script_build-0123456789abcdef
echo '{ global: __rustc_proc_macro_decls_01__; local: *; };' >macros.map
expect "a library of cargo's macros" "$szc" -O2 -shared -fPIC -Wl,--version-script=macros.map -Wl,--undefined-version main.c -o libmacros.so
stays "a library of cargo's macros" libmacros.so
STAB_OFF=1 expect 'off by environment' "$szc" -O2 main.c -o prog2
cmp -s prog prog2 || fail 'off by environment differs from off by flag'
"$szc" -O2 -c main.c -o on.o && "$szc" --stab-off -O2 -c main.c -o off.o
for o in on off; do objdump -d --no-show-raw-insn $o.o | tail -n +4 >$o.dis; done
cmp -s on.dis off.dis || fail 'the code of the baseline is not the same'

# If the post-link step fails the program is there, and the user knows.
mkdir -p broken/bin broken/libexec
cp -P "$szc" broken/bin/szc
cp "$build_directory"/libexec/ld.stab broken/libexec/
ln -s "$build_directory"/lib "$build_directory"/include broken/
printf '#!/bin/sh\necho "stab-link: $2: cannot" >&2\nexit 1\n' >broken/libexec/stab-link
chmod +x broken/libexec/stab-link
expect 'a failing step' broken/bin/szc main.c -o prog
has 'a failing step: says so' .err 'prog is not randomized'
has 'a failing step: its own words' .err 'stab-link: prog: cannot'
runs 'a failing step'
expect 'a failing step, probe' broken/bin/szc main.c -o conftest
[ ! -s .err ] || fail 'a failing step: a probe speaks'
refute 'a failing step, strict' broken/bin/szc main.c -o prog --stab-strict
rm broken/libexec/stab-link
expect 'a missing step' broken/bin/szc main.c -o prog
has 'a missing step: says so' .err 'not installed'
runs 'a missing step'
refute 'a missing step, strict' broken/bin/szc main.c -o prog --stab-strict
rm broken/libexec/ld.stab
refute 'a missing ld.stab' broken/bin/szc main.c -o prog
has 'a missing ld.stab: says so' .err 'ld.stab is missing'

# An installed copy finds its parts elsewhere.
mkdir -p inst/usr/bin inst/usr/libexec/stabd inst/usr/lib/stabd
cp "$szc" inst/usr/bin/szc
cp -r "$build_directory"/libexec/* inst/usr/libexec/stabd/
cp "$build_directory"/lib/stab-*.o inst/usr/lib/stabd/
expect 'installed' inst/usr/bin/szc main.c -o prog
[ ! -s .err ] || { fail 'installed: speaks'; cat .err >&2; }
moves 'installed' prog

# GNU as takes what the pass writes, in either syntax, and the tools that remove debugging information keep it.
works "GNU's assembler" "$szc" -O2 -fno-integrated-as main.c
works "GNU's assembler, Intel's syntax" "$szc" -O2 -fno-integrated-as -masm=intel main.c
cat >pads.c <<'C'
#include <stdio.h>
__attribute__((noinline)) int shown(int x) { printf("%d\n", x); return x + 1; }
int main(int argc, char **argv) { (void)argv; return shown(argc) - 2; }
C
expect 'an object with records' "$szc" -O2 -g -c pads.c -o whole.o
for how in 'strip -g' 'strip --strip-unneeded' 'objcopy -g' 'ld.bfd -r -S -o stripped.o whole.o'; do
  cp whole.o stripped.o
  # shellcheck disable=SC2086
  case $how in ld*) $how ;; *) $how stripped.o ;; esac || fail "$how fails"
  works "$how" "$szc" stripped.o
  "$szc" --stab-explain prog >explained
  has "$how: pads" explained ' shown: pads of up to '
done

# lld's cache of ThinLTO does not notice the pass, so code with other pads is in another folder.
expect 'a cache of ThinLTO: compiled' "$szc" -flto=thin -O2 -c pads.c -o thin.o
for how in --stab-off --stab-stack=off --stab-stack=frame --stab-off; do
  expect "a cache of ThinLTO, $how" "$szc" -flto=thin -O2 "$how" thin.o -Wl,--thinlto-cache-dir=cache -o prog
  "$szc" --stab-explain prog >explained 2>/dev/null
  case $how in
    --stab-off) lacks "a cache of ThinLTO, $how" <(readelf -SW prog) .szc_ ;;
    --stab-stack=off) lacks "a cache of ThinLTO, $how" explained ' shown: pads' ;;
    *) has "a cache of ThinLTO, $how" explained ' shown: pads of up to ' ;;
  esac
done
equal 'a cache of ThinLTO: folders' "$(find cache -name 'llvmcache-*' -printf '%h\n' | sort -u | wc -l)" 3

# Objects that the post-link step can't judge: those of an szc whose records had other names, and CREL relocations.
for section in frames calls; do
  objcopy --rename-section ".szc_$section=.stab_$section" whole.o older.o || fail 'objcopy --rename-section'
  expect "an earlier szc's $section" "$szc" older.o -o prog
  has "an earlier szc's $section: says so" .err 'prog is not randomized'
  has "an earlier szc's $section: why" .err 'an earlier version of szc compiled some of its object files'
  stays "an earlier szc's $section" prog
  runs "an earlier szc's $section"
  refute "an earlier szc's $section, strict" "$szc" older.o -o prog2 --stab-strict
done
expect 'CREL' "$szc" -Wa,--allow-experimental-crel,--crel main.c -o prog
has 'CREL: says so' .err 'prog is not randomized'
has 'CREL: why' .err 'such as CREL'
stays 'CREL' prog
runs 'CREL'
refute 'CREL, strict' "$szc" -Wa,--allow-experimental-crel,--crel main.c -o prog2 --stab-strict

# Code of the large model stays, and one line says so; that of medium moves.
for how in '' '-fno-pic -no-pie'; do
  # shellcheck disable=SC2086
  expect "-mcmodel=large $how" "$szc" -O1 -mcmodel=large $how main.c -o large
  equal "-mcmodel=large $how: lines" "$(grep -c . .err)" 1
  has "-mcmodel=large $how: why" .err 'functions of large cannot move because of -mcmodel=large'
  expect "-mcmodel=large $how: runs" ./large
  "$szc" --stab-explain large >explained
  has "-mcmodel=large $how: explained" explained 'main: compiled with -mcmodel=large'
done
expect "-mcmodel=large: quiet" "$szc" -mcmodel=large main.c -o large --stab-quiet
[ ! -s .err ] || fail "-mcmodel=large: --stab-quiet speaks"
works "-mcmodel=medium" "$szc" -O1 -mcmodel=medium main.c

# An executable stack, where GNU ld would make it so; with --stab-off too.
cat >runs_on_stack.c <<'C'
#include <stdio.h>
#include <string.h>
int helper(void);
int main(void) {
  static const unsigned char seven[] = {0xb8, 7, 0, 0, 0, 0xc3};
  unsigned char code[16] __attribute__((aligned(16)));
  memcpy(code, seven, sizeof seven);
  __asm__ volatile("" ::: "memory");
  printf("%d\n", helper() ? ((int (*)(void))code)() : 0);
  return 0;
}
C
note='.section .note.GNU-stack,"",@progbits'
code='.text\n.globl helper\n.type helper, @function\nhelper: movl $1, %%eax\n ret\n.size helper, .-helper\n'
printf "$code"'.section .note.GNU-stack,"x",@progbits\n' >asks.s
printf "$code" >silent.s
printf "$code$note"'\n' >plain.s
printf '.globl other\nother: ret\n.section .note.GNU-stack,"x",@progbits\n' >other.s
"$szc" -c asks.s silent.s plain.s other.s
ar rcs libasks.a plain.o asks.o && ar rcs libother.a plain.o other.o && ar rcsT libthin.a asks.o
stack_of() { readelf -lW prog | sed -n 's/.*GNU_STACK.* \(RW[E ]\) .*/\1/p'; }
for off in '' --stab-off; do
  for what in 'asks.s|requests it' 'asks.o|asks.o requests it' 'silent.o|silent.o has no section .note.GNU-stack' 'asks.o libother.a|requests it' \
    'libthin.a|(asks.o) requests it' '-L. -l:libthin.a|(asks.o) requests it'; do
    # shellcheck disable=SC2086
    expect "an executable stack, $what $off" "$szc" $off runs_on_stack.c ${what%|*} -o prog
    equal "an executable stack, $what $off: lines" "$(grep -c . .err)" 1
    has "an executable stack, $what $off: why" .err "${what#*|}"
    equal "an executable stack, $what $off" "$(stack_of)" RWE
    equal "an executable stack, $what $off: runs" "$(./prog)" 7
    # shellcheck disable=SC2086
    expect "an executable stack, $what $off: quiet" "$szc" $off --stab-quiet runs_on_stack.c ${what%|*} -o prog
    [ ! -s .err ] || fail "an executable stack, $what $off: --stab-quiet speaks"
    equal "an executable stack, $what $off: quiet" "$(stack_of)" RWE
  done
  # Members that are not linked do not count, nor does anything if the user decides.
  for what in plain.o 'plain.o libother.a' 'libother.a' 'silent.s -z noexecstack'; do
    # shellcheck disable=SC2086
    expect "no executable stack, $what $off" "$szc" $off runs_on_stack.c $what -o prog
    [ ! -s .err ] || { fail "no executable stack, $what $off: speaks"; cat .err >&2; }
    equal "no executable stack, $what $off" "$(stack_of)" 'RW '
  done
  # lld 22 refuses this contradiction, and lld 19 makes no executable stack.
  refute "-z noexecstack $off" "$szc" $off runs_on_stack.c asks.o -Wl,-z,noexecstack -o prog
  has "-z noexecstack $off: why" .err 'asks.o: requires an executable stack'
  expect "-z noexecstack, clang 19 $off" "$szc" --stab-cc=clang-19 $off runs_on_stack.c asks.o -Wl,-z,noexecstack -o prog
  equal "-z noexecstack, clang 19 $off" "$(stack_of)" 'RW '
  expect "-z execstack $off" "$szc" $off runs_on_stack.c plain.o -Wl,-z,execstack -o prog
  equal "-z execstack $off" "$(stack_of)" RWE
done
# If the extra link that lists an archive's linked members fails, nobody knows whether the stack must be executable.
mkdir no_list
cat >no_list/ld.lld <<'SH'
#!/bin/sh
case " $* " in
  *' --trace '*) printf 'ld.lld: warning: odd\nld.lld: error: no room for a list\n' >&2; exit 1 ;;
esac
exec ld.lld-22 "$@"
SH
chmod +x no_list/ld.lld
echo 'int missing(void); int main(void) { return missing(); }' >lacks_one.c
for off in '' --stab-off; do
  rm -f prog
  # shellcheck disable=SC2086
  refute "a list that fails $off" "$szc" $off --ld-path="$PWD/no_list/ld.lld" runs_on_stack.c libthin.a -o prog
  has "a list that fails $off" .err 'szc: error: prog is not linked: szc cannot tell whether its stack must be executable'
  has "a list that fails $off: why" .err 'an extra link to list the linked files failed: ld.lld: error: no room for a list'
  [ ! -e prog ] || fail "a list that fails $off: leaves a file"
  # shellcheck disable=SC2086
  expect "a list that is not needed $off" "$szc" $off --ld-path="$PWD/no_list/ld.lld" runs_on_stack.c libthin.a -Wl,-z,execstack -o prog
  equal "a list that is not needed $off" "$(stack_of)" RWE
  # An error of the link itself is said once, by the linker.
  # shellcheck disable=SC2086
  refute "a link and a list that fail $off" "$szc" $off lacks_one.c libother.a -o prog
  equal "a link and a list that fail $off: lines" "$(grep -c 'undefined symbol: missing' .err)" 1
  lacks "a link and a list that fail $off" .err 'szc: error'
done
# An object with more sections than its header can count.
{ cat asks.s && seq -f '.section .many%.0f,"a"' 65400; } >many.s
expect 'an executable stack, many sections' "$szc" --stab-off runs_on_stack.c many.s -o prog
has 'an executable stack, many sections: why' .err 'requests it'
equal 'an executable stack, many sections' "$(stack_of)" RWE
if have gcc; then
  cat >nested.c <<'C'
#include <stdio.h>
static int apply(int (*f)(int), int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += f(i);
  return sum;
}
int main(void) {
  int k = 3, sum = 0;
  int inner(int x) { return x * k++; }
  for (int i = 0; i < 100; i++) sum = sum * 3 + apply(inner, 10) % 1000;
  printf("%d\n", sum);
  return 0;
}
C
  gcc -O1 -w nested.c -o nested && expect "gcc's nested functions" sh -c 'gcc -O1 -w -c nested.c && "$0" nested.o -o prog --stab-quiet' "$szc"
  equal "gcc's nested functions" "$(STABILIZER_OPTIONS=stack=1:heap=1:period=1ms:budget=off ./prog)" "$(./nested)"
fi

# Readers of notes find nothing wrong with ours.
readelf -nW prog >notes 2>&1
has 'the note' notes 'Stabd'
lacks 'the note' notes 'orrupt'

# Our own flags.
expect 'print' "$szc" --stab-print main.c -o printed
has 'print: the command' .out '-ffunction-sections'
[ ! -e printed ] || fail 'print runs something'
sh -c "$(cat .out)" || fail 'print: not fit for a shell'
moves 'print: the command works' printed
expect 'help' "$szc" --stab-help
has 'help' .out '--stab-link-padding'
"$szc" --help >.out 2>/dev/null
has 'the help of the compiler' .out "szc's own flags: szc --stab-help"
expect 'version' "$szc" --stab-version
has 'version' .out 'ld.stab'
refute 'an own flag that does not exist' "$szc" --stab-nothing main.c
has 'an own flag that does not exist' .err '--stab-help'
expect 'explain' "$szc" --stab-explain printed
has 'explain' .out 'main'
expect 'explain as JSON' "$szc" --stab-explain printed --json
has 'explain as JSON' .out '"text_bytes"'
STAB_STACK=tabel refute 'a mode of stacks that does not exist' "$szc" -c main.c
has 'a mode of stacks that does not exist' .err 'STAB_STACK=tabel: STAB_STACK must be frame, table or off'
STAB_OFF=1 STAB_STACK=table expect 'version: the settings' "$szc" --stab-cc=clang-19 --stab-version
for line in 'off: yes' 'stack: table' "compiler: $(command -v clang-19) "; do has 'version: the settings' .out "$line"; done
grep -qE '^compiler: /.*, (of LLVM|.*clang version) 19' .out || fail "version: the compiler's: $(cat .out)"
refute 'explain of something else' "$szc" --stab-explain main.c
finish
