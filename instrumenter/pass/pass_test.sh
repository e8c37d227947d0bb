#!/bin/bash
# SPDX-License-Identifier: MIT
# pass_test.sh SOURCE BUILD: the plugin instruments a module exactly once, in the phase that the driver names.
set -u
. "$1/tests/lib.sh"
plugin=$build_directory/lib/stab-pass-${clang#clang-}.so

echo 'int f(int); int main(void) { return f(1) + f(2); }' >"$work/a.c"

# expect COUNT PHASE FLAGS...: how often the module flag appears.
expect() {
  local wanted=$1 phase=$2 seen
  shift 2
  seen=$(STAB_PASS_PHASE=$phase $clang "-fpass-plugin=$plugin" -S -emit-llvm -o - "$@" "$work/a.c" | grep -c '"stab.instrumented"')
  [ "$seen" = "$wanted" ] && return
  fail "phase '$phase', $*: $seen times, not $wanted"
}

for level in -O0 -O1 -O2 -Os; do
  expect 1 compile $level
  expect 1 "" $level
  expect 0 prelink $level
  expect 0 link-full $level
done
expect 0 prelink -O2 -flto=thin
expect 0 prelink -O2 -flto

# Run twice over one module.
STAB_PASS_PHASE=compile $clang "-fpass-plugin=$plugin" -O1 -S -emit-llvm -o "$work/once.ll" "$work/a.c"
seen=$(STAB_PASS_PHASE=compile $clang "-fpass-plugin=$plugin" -O1 -S -emit-llvm -o - "$work/once.ll" | grep -c '"stab.instrumented"')
[ "$seen" = 1 ] || failures=$((failures + 1))

# Without pads the code is the same with and without the plugin. A note says that its frames must stay.
$clang -O2 -c -o "$work/without.o" "$work/a.c"
STAB_STACK=off $clang -O2 -c "-fpass-plugin=$plugin" -o "$work/with.o" "$work/a.c"
code() { objdump -dr --no-show-raw-insn "$1" | tail -n +4; }
cmp <(code "$work/without.o") <(code "$work/with.o") || failures=$((failures + 1))
alone() { $clang -O2 -c "-fpass-plugin=$plugin" -o "$work/alone.o" "$@" && readelf -rW "$work/alone.o" | awk '/^Relocation section/ { on = /szc_alone/ } on && $3 ~ /R_X86_64_64/ { print $5 }' | sort | tr '\n' ' '; }
[ "$(STAB_STACK=off alone "$work/a.c" | wc -w)" -ge 1 ] || failures=$((failures + 1))
[ -z "$(alone "$work/a.c")" ] || failures=$((failures + 1))
[ "$(alone -mstack-alignment=64 "$work/a.c")" = "$(STAB_STACK=off alone "$work/a.c")" ] || failures=$((failures + 1))

# Left alone: what calls nothing, naked functions, assembly that uses the stack, other machines.
records() { $clang -O2 -S "-fpass-plugin=$plugin" -o - "$@" | grep -c 'szc_frames'; }
[ "$(records "$work/a.c")" = 1 ] || failures=$((failures + 1))
cat >"$work/b.c" <<'C'
int f(int);
int leaf(int x) { return x + 1; }
int tail(int x) { return f(x); }
__attribute__((naked)) int naked(int x) { __asm__("call f; ret"); }
int pushes(int x) { __asm__ volatile("push %rax; pop %rax"); return f(x) + 1; }
int base(int x) { __asm__ volatile("" ::: "rbp"); return f(x) + 1; }
C
[ "$(records "$work/b.c")" = 0 ] || failures=$((failures + 1))
[ "$(alone "$work/b.c")" = 'base naked pushes ' ] || failures=$((failures + 1))
[ "$(records --target=aarch64-linux-gnu "$work/a.c")" = 0 ] || failures=$((failures + 1))
# Pads on entry: the same functions, and no frame of theirs is described twice.
entries() { STAB_STACK=table $clang -O2 -S "-fpass-plugin=$plugin" -o - "$@" | grep -c 'szc_entries'; }
[ "$(entries "$work/a.c")" = 1 ] || failures=$((failures + 1))
[ "$(entries "$work/b.c")" = 0 ] || failures=$((failures + 1))
[ "$(STAB_STACK=table records "$work/a.c")" = 0 ] || failures=$((failures + 1))
# A function whose bytes are used by its name or by an alias of an alias is noted once; an alias that is called is not.
cat >"$work/c.c" <<'C'
void *memcpy(void *, const void *, unsigned long);
int seven(int x) { return x * 3 + 7; }
int same(int x) __attribute__((alias("seven")));
int again(int x) __attribute__((weak, alias("same")));
int call(int (*f)(int)) { return f == same ? again(3) : same(f(2)); }
#ifdef COPIED
void copy(void *to) { memcpy(to, (void *)COPIED, 32); }
#endif
C
notes() { $clang -O2 -S -fno-integrated-as "-fpass-plugin=$plugin" -o - "$@" "$work/c.c" | sed -n '/szc_bytes/,/popsection/p' | grep -c '\.quad "seven"'; }
[ "$(notes)" = 0 ] || failures=$((failures + 1))
for name in seven same again; do
  [ "$(notes -DCOPIED=$name)" = 1 ] || fail "$name is copied"
done
# Other assemblers than LLVM's take the records, in either syntax, and the tools that remove debugging information keep
# them.
for syntax in att intel; do
  $clang -O2 -masm=$syntax -fno-integrated-as -c "-fpass-plugin=$plugin" -DCOPIED=same -o "$work/c.o" "$work/c.c" &&
    $clang -O2 -masm=$syntax -c "-fpass-plugin=$plugin" -DCOPIED=same -o "$work/d.o" "$work/c.c" || failures=$((failures + 1))
  strip -g "$work/c.o" || failures=$((failures + 1))
  for record in frames calls bytes; do
    for object in c d; do objdump -s -j .szc_$record "$work/$object.o" | tail -n +4 >"$work/$object.$record"; done
    [ -s "$work/c.$record" ] && cmp "$work/c.$record" "$work/d.$record" || fail "-masm=$syntax: $record"
  done
done
# Stack protectors are asked for by other objects only.
$clang -O2 -fstack-protector-strong -S "-fpass-plugin=$plugin" -o - "$work/a.c" | grep -q '__stack_chk_fail' && failures=$((failures + 1))
finish
