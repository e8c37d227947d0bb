#!/bin/bash
# SPDX-License-Identifier: MIT
# symbols_test.sh SOURCE BUILD: the runtime takes nothing from a program's libraries but what is listed here, keeps its
# code on its own pages, and gives a program no names but these.
set -u
. "$1/tests/lib.sh"
library=$build_directory/lib/libstabrt.a

# compare TITLE EXPECTED ACTUAL
compare() {
  [ "$2" = "$3" ] && return
  fail "$1"
  diff <(echo "$2") <(echo "$3")
}

defined=$(nm --defined-only "$library" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u)
undefined=$(nm -u "$library" 2>/dev/null | awk 'NF == 2 { print $2 }' | sort -u)
needed=$(comm -23 <(echo "$undefined") <(echo "$defined"))
# Those with stab_text, __ehdr_start and _DYNAMIC are made by the linker.
compare "what the runtime needs" "_DYNAMIC
__cxa_at_quick_exit
__ehdr_start
__errno_location
__interceptor_pthread_create
__libc_calloc
__libc_free
__libc_malloc
__libc_memalign
__libc_realloc
__libc_single_threaded
__libc_stack_end
__register_atfork
__start_stab_text
__stop_stab_text
abort
dladdr
dladdr1
dlerror
dlsym
getauxval
pthread_key_create
pthread_setspecific" "$needed"

visible=$(readelf -sW "$build_directory/lib/stab-runtime.o" | awk '($5 == "GLOBAL" || $5 == "WEAK") && $6 == "DEFAULT" && $7 != "UND" { print $8 }' | sort -u)
# names KIND...: of the table.
table=$source_directory/runtime/abi/interposed.inc
names() { for kind in "$@"; do sed -n "s/^STAB_NAME($kind, \"\([^\"]*\)\", .*/\1/p" "$table"; done | sort; }
compare "what the runtime exports" "$(names libc heap ours found)" "$visible"
echo 'int main(void) { return 0; }' >"$work/main.c"
"$szc" "$work/main.c" -o "$work/main" || fail "szc does not build a program"
exported=$(nm -D --defined-only "$work/main" | awk '{ print $3 }' | sort)
compare "what executables export" "$(names libc heap ours)" "$exported"

libc=$(ldd "$work/main" | awk '/libc\.so/ { print $3 }')
hidden=$(readelf -sW "$build_directory/lib/stab-runtime.o" | awk '$6 == "HIDDEN" && $7 != "UND" { print $8 }')
compare "hidden names that go before libc's" "$(names executable)" \
  "$(nm -D --defined-only "$libc" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u | grep -Fx "$hidden")"

# The document's table, a row for names that follow each other and have the same reason.
rows=$(sed -n 's/^STAB_NAME([a-z]*, "\([^"]*\)", "\(.*\)")$/\2|\1/p' "$table" |
  awk -F'|' '$1 == why { names = names ", `" $2 "`"; next } { if (why) print "| " names " | " why " |"; why = $1; names = "`" $2 "`" } END { print "| " names " | " why " |" }')
compare "names in doc/runtime.md" "$rows" "$(sed -n '/^| names | because |$/,/^$/p' "$source_directory/doc/runtime.md" | tail -n +3 | sed '/^$/d')"

# The only door to the kernel (os.h), but for the return from a signal. (Ours named syscall ends in a jump to libc's.)
ar x --output "$work" "$library"
callers=$(for object in "$work"/*.o; do
  ! objdump -d --no-show-raw-insn "$object" | grep -qP '\t(syscall|sysenter|int +\$0x80)\s*$' || basename "$object" .cc.o
done)
compare "what calls the kernel" "os
signals" "$callers"

code=$(readelf -SW "$build_directory/lib/stab-runtime.o" | awk '/ AX / && $0 !~ / 000000 00  AX/ { sub(/^ *\[ *[0-9]+\] */, ""); print $1 }' | sort -u)
compare "sections with code" "stab_text" "$code"

needed=$(nm -u "$build_directory/lib/stab-library.o" | awk '{ print $2 }' | sort -u)
compare "what a library needs" "__ehdr_start
stab_add_image
stab_remove_image" "$needed"

names=$(nm -D --defined-only "$build_directory/lib/libstabheap.so" | awk '{ print $3 }' | sort)
compare "what libstabheap.so exports" "$(names heap preload)" "$names"
finish
