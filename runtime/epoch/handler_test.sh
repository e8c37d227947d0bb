#!/bin/bash
# SPDX-License-Identifier: MIT
# handler_test.sh SOURCE BUILD: what runs in signal handlers leaves locks, libc and the heap alone.
# The objects whose functions an epoch's handler calls, and all that these refer to, take nothing of libc's and nothing of the heap
# (Epochs 1). Not looked at: epoch.cc, which runs outside of handlers, too: there the type OutsideHandlers keeps what waits or
# asks libc out of handlers. What handlers of the program may call is looked at function by function (Handlers 1).
set -u
. "$1/tests/lib.sh"
source_directory=$(realpath "$1")
build_directory=$(realpath "$2")
library=$build_directory/lib/libstabrt.a
reached_script=$source_directory/runtime/epoch/reached.awk

starts="epoch_signal image migrate one_epoch schedule signals stacks walk"
# Functions that take the proof InHandler are for handlers alone.
takers=$(nm -A -g -C --defined-only "$library" 2>/dev/null | sed -n 's/^[^:]*:\([^:]*\)\.cc\.o:.*InHandler const&.*/\1/p' | sort -u)
starts=$(printf '%s\n' $starts $takers | sort -u | xargs)
# Object NEEDS name: what no object of ours has. Object HAS: it was reached.
reached=$({
  nm -A -g --defined-only "$library" | awk '{ split($1, part, ":"); print "has", part[2], $NF }'
  nm -A -u "$library" | awk '{ split($1, part, ":"); print "needs", part[2], $NF }'
} 2>/dev/null | awk -v starts="$starts" '
  { sub(/\.cc\.o$/, "", $2) }
  $1 == "has" { home[$3] = $2 }
  $1 == "needs" { needs[$2] = needs[$2] " " $3 }
  END {
    n = split(starts, queue)
    for (i = 1; i <= n; ++i) seen[queue[i]] = 1
    for (i = 1; i <= n; ++i) {
      print "reached", queue[i]
      m = split(needs[queue[i]], names, " ")
      for (j = 1; j <= m; ++j)
        if (!(names[j] in home)) print queue[i], names[j]
        else if (!(home[names[j]] in seen)) { seen[home[names[j]]] = 1; queue[++n] = home[names[j]] }
    }
  }' | sort)

objects=$(ar t "$library")
for start in $starts; do grep -qx "$start.cc.o" <<<"$objects" || fail "there is no $start.cc"; done
twice=$(ar t "$library" | sort | uniq -d)
[ -z "$twice" ] || fail "two objects of one name cannot be told apart: $twice"
# unwind and os ask at start only, contexts in calls of the program. The others are made by the linker.
expected="contexts dlsym
libraries _DYNAMIC
os getauxval
relink __start_stab_text
relink __stop_stab_text
unwind dlsym"
needed=$(grep -v '^reached ' <<<"$reached")
[ "$needed" = "$expected" ] || { fail "what the handler's objects need"; diff <(echo "$expected") <(echo "$needed"); }
mapfile -t of_heap < <(basename -s .cc -- "$1"/runtime/malloc/*/*.cc)
[ ${#of_heap[@]} -ge 15 ] || fail "only these are of the heap: ${of_heap[*]}"
heap=$(sed -n 's/^reached //p' <<<"$reached" | grep -xFf <(printf '%s\n' "${of_heap[@]}"))
[ -z "$heap" ] || fail "the handler's objects reach the heap: $heap"
for taker in migrate one_epoch threads; do grep -qx $taker <<<"$takers" || fail "$taker.cc takes no proof"; done
[ "$(grep -c '^reached ' <<<"$reached")" -ge 20 ] || fail "only these were looked at: $reached"

# compiles DECLARATION: a file that knows what waits for epochs and what an epoch does, with this in it.
compiles() {
  printf '#include "runtime/%s"\n' epoch/epoch.h epoch/one_epoch.h image/unwind.h |
    cat - <(echo "namespace stab::rt { $* }") |
    clang++-22 -std=c++20 -I"$source_directory" -fsyntax-only -x c++ - 2>diagnosis
}
cd "$work" || exit 1
compiles 'struct BeforeSandbox { void f() { const NoEpochs guard(OutsideHandlers{}); } };' || fail "an entry point cannot wait: $(cat diagnosis)"
compiles 'struct Handler { void f() { const NoEpochs guard(OutsideHandlers{}); } };' && fail "anybody may wait for epochs"
grep -q 'private constructor' diagnosis || fail "another error: $(cat diagnosis)"
compiles 'struct Handler { void f() { prepare_find_object(OutsideHandlers{}); } };' && fail "anybody may ask libc for its functions"
grep -q 'private constructor' diagnosis || fail "another error: $(cat diagnosis)"
compiles 'struct EpochHandler { void f(ucontext_t& at) { one_epoch::run(InHandler{}, at, false); } };' || fail "the handler runs no epoch: $(cat diagnosis)"
compiles 'struct AtStartAndEnd { void f(ucontext_t& at) { one_epoch::run(InHandler{}, at, false); } };' && fail "anybody may run an epoch"
grep -q 'private constructor' diagnosis || fail "another error: $(cat diagnosis)"

# Every function of a program that the runtime is linked to, but for the program's own.
echo 'int main(void) { return 0; }' >main.c
clang-22 -fuse-ld=lld main.c "$build_directory/lib/stab-runtime.o" -o program || fail "the runtime is not linked"
list() { nm -nS "$1"; readelf -rW "$1"; objdump -d --no-show-raw-insn "$1"; }
list program >listing
# reach CUTS ROOT...: what these reach, each with the way to it.
reach() { awk -v cuts="$1" -v roots="${*:2}" -f "$reached_script" listing | c++filt | sort; }
# claims LISTING: the functions that say by their names that they are called before our start only, and where each goes first: to the
# proof, which ends the process if it comes later.
claims() {
  awk '/^[0-9a-f]+ <.*>:$/ { name = $2 ~ /before_start/ ? $2 : ""; gsub(/[<>:]/, "", name); if (name != "") first[name] = "nowhere" }
    name != "" && $2 ~ /^(call|jmp|syscall)/ { if (index($NF, "<" name "+")) next; first[name] = $NF; name = "" }
    END { for (name in first) print name, first[name] }' "$1" | sort
}
of_libc='^[^ ]*@'
waits='^stab::os::(yield|wait_for_change)\(|^stab::heap::Lock::|NoEpochs'
# functions_named REGEX: their names in the symbols.
functions_named() { nm program | awk -v name="$1" '$3 ~ name { print $3 }'; }

# Not followed: what is called before our start only, and says so by BeforeStart; how a program asks for a sandbox; how _exit waits
# for the last line of another thread, for a while; and the tables of two allocators, whose addresses are compared.
cuts='before_start|set_seccomp|stab_seccomp|set_dispatch|note_memory_key|LastLine15wait_for_writer|^_ZN4stab4heap(5plain|6bitmap|5layer)E$'
mapfile -t claimed < <(claims listing)
[ ${#claimed[@]} -ge 3 ] || fail "only these say that they are called before our start: ${claimed[*]}"
bad=$(printf '%s\n' "${claimed[@]}" | grep -v ' <_ZN4stab2rt11BeforeStart7outsideEv>$')
[ -z "$bad" ] || fail "called before our start, they say, but not by the proof: $bad"
# Whatever name the runtime gives a program may be called in a handler, but for these and the heap's.
not_in_handlers="stab_add_image stab_remove_image pthread_create thrd_create pthread_cancel __jit_debug_descriptor __jit_debug_register_code"
mapfile -t names < <(sed -n 's/^STAB_NAME(\(ours\|libc\|found\), "\([^"]*\)", .*/\2/p' "$source_directory/runtime/abi/interposed.inc" |
  grep -vxF "$(tr ' ' '\n' <<<"$not_in_handlers")")
mapfile -t entries < <(functions_named '8on_crashE|12epoch_signal.*9on_signalE')
[ ${#entries[@]} = 2 ] || fail "the handlers' entries are ${entries[*]}"
mapfile -t called < <(reach "$cuts" "${names[@]}" "$(functions_named '8on_crashE')")
bad=$(printf '%s\n' "${called[@]}" | grep -E "there is no|$of_libc|$waits")
[ -z "$bad" ] || fail "handlers of the program reach what waits or is libc's:"$'\n'"$bad"
heap=$(printf '%s\n' "${called[@]%% <*}" | sed -n 's/^stab::heap:://p' | LC_ALL=C sort | xargs)
counts="all all choice shared_cache()::storage where_from add_counts(stab::rt::Line&) bitmap bitmap_counts() cache_counts() heap_counts() large_counts() layer layer_counts() plain shuffling::all"
[ "${heap//(anonymous namespace)::/}" = "$counts" ] || fail "handlers of the program reach of the heap: $heap"
[ ${#called[@]} -ge 100 ] || fail "only these were looked at: ${called[*]}"

# The epoch's handler may wait for other threads, for a while.
mapfile -t of_epochs < <(functions_named '12epoch_signal.*9on_signalE|9InHandlerE')
mapfile -t called < <(reach "$cuts" "${of_epochs[@]}")
bad=$(printf '%s\n' "${called[@]}" | grep -E "there is no|$of_libc|^stab::heap::|NoEpochs")
[ -z "$bad" ] || fail "the epoch's handler reaches:"$'\n'"$bad"
[ ${#called[@]} -ge 200 ] || fail "only these were looked at: ${called[*]}"

# A program may run with another FS base when the signal comes.
printf '%s\n' "${called[@]%% <*}" >called
bad=$(c++filt <listing | awk 'NR == FNR { mine[$0]; next } /^[0-9a-f]+ <.*>:$/ { name = $0; sub(/^[0-9a-f]+ </, "", name); sub(/>:$/, "", name) }
  name in mine && /%fs:/ { print name }' called - | sort -u)
[ -z "$bad" ] || fail "the epoch's handler has data of threads: $bad"

# faults_of_walk ROOT...: what of these calls itself, by way of others, too, and what has data of threads: a walk does neither.
faults_of_walk() {
  awk -v edges=1 -v cuts="$cuts" -v roots="$*" -f "$reached_script" listing >edges
  tsort edges 2>&1 >/dev/null | sed -n 's/^tsort: \([^:]*\)$/\1/p'
  awk 'NR == FNR { mine[$1]; mine[$2]; next } /^[0-9a-f]+ <.*>:$/ { gsub(/[<>:]/, "", $2); name = $2 } name in mine && /%fs:/ { print name }' edges listing
}
mapfile -t of_walk < <(functions_named '^_ZN4stab2rt(4step|10begin_walk)')
[ ${#of_walk[@]} = 3 ] || fail "walks begin and go on by ${of_walk[*]}"
bad=$(faults_of_walk "${of_walk[@]}" | sort -u)
[ -z "$bad" ] || fail "a walk calls itself or has data of threads: $bad"
[ "$(wc -l <edges)" -ge 40 ] || fail "only these calls of a walk were looked at: $(cat edges)"

# What is there to be found is found: by a call, by a pointer in data, by a table that is compared, by one of the linker's; and a
# function that has nothing but the name.
for way in 'prctl dlsym@plt' 'syscall dlsym@plt' '_dl_find_object dlsym@plt' 'malloc pthread_key_create@plt' '_exit abort@plt' 'prctl stab::os::yield()'; do
  reach '' "${way%% *}" | grep -qF "${way#* } < " || fail "no way from ${way%% *} to ${way#* } is seen"
done
echo 'int of_library(void) { return 1; }' | clang-22 -fuse-ld=lld -shared -fPIC -x c - -o library.so
cat >>main.c <<'C'
int of_library(void), sched_yield(void);
static int (*of_data)(void) = of_library;
void by_table(void) { __asm__ volatile("call *of_library@GOTPCREL(%rip)"); }
void by_version(void) { __asm__ volatile("call *sched_yield@GOTPCREL(%rip)"); }
void by_data(void) { of_data(); of_data = sched_yield; }
void wait_before_start(void) { for (volatile int i = 0; i < 9; ++i) {} sched_yield(); }
void spin_before_start(void) { for (;;) {} }
static __thread int of_thread;
void thread_walk(void) { ++of_thread; }
int self_walk(int n) { return n > 0 ? self_walk(n - 1) + self_walk(n - 2) : n; }
int pair_walk(int n);
int other_walk(int n) { return pair_walk(n) + 1; }
int pair_walk(int n) { return n > 0 ? other_walk(n - 1) + 1 : n; }
void plain_walk(void) { by_table(); by_data(); }
C
clang-22 -fuse-ld=lld main.c library.so -o opened && list opened >named || fail "the program with open ways is not built"
# Newer objdumps name what a slot of the table is for, others only where it lies.
sed -E 's/(# [0-9a-f]+) <[^>]*@.*>$/\1 <_DYNAMIC+0x8>/' named >unnamed
for listing in named unnamed; do
  cp $listing listing
  for way in 'by_table of_library@' 'by_version sched_yield@' 'by_data of_library@' 'by_data sched_yield@'; do
    reach '' "${way%% *}" | grep -q "^${way#* }.* < ${way%% *}$" || fail "no way from ${way%% *} to ${way#* } is seen, $listing"
  done
done
[ "$(claims listing | xargs)" = "spin_before_start nowhere wait_before_start <sched_yield@plt>" ] || fail "who claims to be called early: $(claims listing)"
faults=$(for root in thread self pair plain; do faults_of_walk ${root}_walk | sed "s/^/$root: /"; done | sort -u | xargs)
[ "$faults" = "pair: other_walk pair: pair_walk self: self_walk self: self_walk+ thread: thread_walk" ] || fail "the faults of walks: $faults"
finish
