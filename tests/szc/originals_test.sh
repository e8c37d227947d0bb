#!/bin/bash
# SPDX-License-Identifier: MIT
# originals_test.sh SOURCE BUILD: functions whose original code may still run, or whose caller matters, count as dangerous: they
# stay, or layouts stay, and the programs run right.
set -u
. "$1/tests/lib.sh"
cd "$work" || exit 1
options=code=1:stack=1:strict=1:period=5ms:poison=1:budget=off
says() { grep -qE -- "$2" "$1" || fail "'$2' is not in: $(cat "$1")"; }

# gcc puts blocks that are rarely run into a function of their own. Its jump tables lead there, also behind its beginning.
cat >table.c <<'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((cold, noreturn, noinline)) static void die(int x) { printf("die %d\n", x); exit(3); }
__attribute__((noinline)) static int g(int y) { return y * 3 + 1; }
__attribute__((noinline)) int foo(int x, int y) {
  switch (x & 7) {
    case 0: return g(y);
    case 1: ++y; /* falls through */
    case 3: die(y);
    case 2: return g(y) + 2;
    case 4: return g(y) ^ 4;
    case 5: return g(y + 1) * 5;
    case 6: return g(y - 1) - 6;
    default: return g(y) + 7;
  }
}
int main(int count, char **arguments) {
  (void)arguments;
  int sum = 0;
  for (int i = 0; i < 100000; ++i) sum += foo((int[]){0, 2, 4, 5, 6, 7}[i % 6], i);
  printf("%d\n", sum);
  return foo(count + 2, 3);
}
C
clang-22 -O2 -o plain table.c && ./plain >expected
for flags in "" -falign-functions=1; do
  # shellcheck disable=SC2086
  gcc -O2 $flags -c -o table.o table.c && "$szc" -o table table.o || exit 1
  "$szc" --stab-explain table >explained
  says explained '^  pinned .* foo\.cold: '
  for seed in 1 2 3; do
    # If none of gcc's frames has a pad, strict=1 refuses to start.
    STABILIZER_OPTIONS=${options/strict=1:/}:seed=$seed ./table >printed
    cmp -s printed expected || fail "$flags, seed $seed: $(cat printed)"
  done
done

# libc looks at the caller of dlsym(), which is the caller of a function that ends with a jump there.
cat >tail.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
static __attribute__((noinline)) void *next(const char *name) { return dlsym(RTLD_NEXT, name); }
int puts(const char *text) {
  int (*real)(const char *) = (int (*)(const char *))next("puts");
  if (real == NULL) { fprintf(stderr, "nothing\n"); return -1; }
  return real(text);
}
C
echo 'int puts(const char *); int main(void) { return puts("hello") < 0; }' >hello.c
"$szc" -O2 -fPIC -shared -o libtail.so tail.c && "$szc" -O1 -o hello hello.c -L. -ltail -Wl,-rpath,"$PWD" || exit 1
"$szc" --stab-explain libtail.so >explained
says explained '^  pinned .* puts: calls dlopen, dlsym or a similar function'
for seed in 1 2 3; do [ "$(STABILIZER_OPTIONS=$options:seed=$seed ./hello)" = hello ] || fail "dlsym by a jump, seed $seed"; done
# The same over two jumps, which go through the linker's table because other images may replace the functions.
cat >chain.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#ifdef FIRST
void *next(const char *name) { return dlsym(RTLD_NEXT, name); }
#elif defined SECOND
void *next(const char *);
void *middle(const char *name) { return next(name); }
#else
void *middle(const char *);
int puts(const char *text) {
  int (*real)(const char *) = (int (*)(const char *))middle("puts");
  return real == 0 ? -1 : real(text);
}
#endif
C
for part in FIRST SECOND THIRD; do "$szc" -O2 -fPIC -D$part -c -o $part.o chain.c || exit 1; done
"$szc" -shared -o libchain.so FIRST.o SECOND.o THIRD.o && "$szc" -O1 -o chained hello.c -L. -lchain -Wl,-rpath,"$PWD" || exit 1
"$szc" --stab-explain libchain.so >explained
says explained '^  pinned .* puts: calls dlopen, dlsym or a similar function'
for seed in 1 2 3; do [ "$(STABILIZER_OPTIONS=$options:seed=$seed ./chained)" = hello ] || fail "dlsym by two jumps, seed $seed"; done
# A call through the linker's table is a call, not a jump.
"$szc" -O2 -fPIC -fno-plt -shared -o libcalls.so -x c - <<'C' || exit 1
#define _GNU_SOURCE
#include <dlfcn.h>
static __attribute__((noinline)) void *next(const char *name) { void *found = dlsym(RTLD_DEFAULT, name); __asm__ volatile("" : "+r"(found)); return found; }
int has(const char *name) { return next(name) != 0; }
C
"$szc" --stab-explain libcalls.so >explained
says explained '^  moves .* has: '

# In a library, recursion may go through the linker's table. Deep recursion fits on the stack only with small pads.
cat >depth.c <<'C'
struct tree { struct tree *left, *right; };
long depth(struct tree *node) {
  if (node == 0) return 0;
  long left = depth(node->left), right = depth(node->right);
  return 1 + (left > right ? left : right);
}
C
cat >deep.c <<'C'
#include <stdio.h>
struct tree { struct tree *left, *right; };
long depth(struct tree *);
static struct tree nodes[50000];
int main(void) {
  for (int i = 1; i < 50000; ++i) nodes[i].left = &nodes[i - 1];
  printf("%ld\n", depth(&nodes[49999]));
}
C
"$szc" -O2 -fPIC -shared -o libdepth.so depth.c && "$szc" -O1 -o deep deep.c -L. -ldepth -Wl,-rpath,"$PWD" || exit 1
"$szc" --stab-explain libdepth.so >explained
says explained '^  moves .* depth: pads of up to 112 bytes'
for seed in 1 2 3; do [ "$(STABILIZER_OPTIONS=$options:seed=$seed ./deep)" = 50000 ] || fail "deep recursion, seed $seed"; done

# Coroutines on the stacks of signal handlers, and a switch of stacks behind an instruction that is not known.
cat >coroutine.c <<'C'
#include <setjmp.h>
#include <signal.h>
static jmp_buf place;
static char room[65536];
static void handler(int unused) { (void)unused; setjmp(place); }
int main(void) {
  stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
  sigaltstack(&stack, 0);
  signal(SIGUSR1, handler);
  return 0;
}
C
"$szc" -O1 -o coroutine coroutine.c || exit 1
"$szc" --stab-explain coroutine >explained
says explained 'all layouts are kept.* because main at .* creates or switches stacks'
cat >hidden.c <<'C'
void swap(void **from, void *to);
__attribute__((naked, noinline)) void swap(void **from, void *to) {
  __asm__("cmp %rax, %rax\n jne 1f\n jmp 2f\n1: cmpbexadd %ecx, %eax, (%rdi)\n2: mov %rsp, (%rdi)\n mov %rsi, %rsp\n ret");
}
int main(int count, char **arguments) {
  void *place;
  if (count > 5) swap(&place, arguments);
  return 0;
}
C
"$szc" -O1 -o hidden hidden.c || exit 1
"$szc" --stab-explain hidden >explained
says explained 'all layouts are kept.* because swap at .* sets the stack pointer'
says explained '^  pinned .* swap: contains bytes that do not form a valid instruction'

# An option that would have no effect is named, and refused under --stab-strict.
echo 'int main(void) { return 0; }' >empty.c
"$szc" --stab-link-order=5 -fuse-ld=bfd -o by_bfd empty.c 2>said || fail "bfd cannot link: $(cat said)"
says said 'note: --stab-link-order has no effect on by_bfd: only lld'
"$szc" --stab-off --stab-strict --stab-link-order=5 -fuse-ld=bfd -o by_bfd empty.c 2>said && fail "a link order without effect"
says said '--stab-link-order has no effect on by_bfd'
for keep in -Wl,--emit-relocs -Wl,-q; do
  "$szc" "$keep" -o kept empty.c 2>said || fail "$keep: $(cat said)"
  says said 'note: --emit-relocs has no effect on kept: the relocations do not describe moved code'
  "$szc" --stab-strict "$keep" -o kept empty.c 2>said && fail "$keep is dropped under --stab-strict"
  says said '--emit-relocs has no effect on kept'
  "$szc" --stab-off "$keep" -o kept empty.c 2>said || fail "$keep: $(cat said)"
  [ ! -s said ] || fail "a note although $keep has its effect: $(cat said)"
  readelf -SW kept | grep -q '[.]rela[.]text' || fail "--stab-off $keep keeps no relocations"
done
finish
