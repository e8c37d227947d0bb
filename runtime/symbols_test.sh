#!/bin/bash
# SPDX-License-Identifier: MIT
# symbols_test.sh SOURCE BUILD: the runtime takes nothing from a program's libraries but what is listed here, keeps its
# code on its own pages, and gives a program no names but these.
set -u
library=$2/lib/libstabrt.a
failures=0

# compare TITLE EXPECTED ACTUAL
compare() {
  [ "$2" = "$3" ] && return
  echo "FAILED: $1"
  diff <(echo "$2") <(echo "$3")
  failures=1
}

defined=$(nm --defined-only "$library" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u)
undefined=$(nm -u "$library" 2>/dev/null | awk 'NF == 2 { print $2 }' | sort -u)
needed=$(comm -23 <(echo "$undefined") <(echo "$defined"))
# Those with stab_text, __ehdr_start and _DYNAMIC are made by the linker.
compare "what the runtime needs" "_DYNAMIC
__ehdr_start
__errno_location
__interceptor_pthread_create
__libc_calloc
__libc_free
__libc_malloc
__libc_memalign
__libc_realloc
__libc_stack_end
__register_atfork
__start_stab_text
__stop_stab_text
abort
dladdr
dlerror
dlsym
getauxval
pthread_key_create
pthread_setspecific" "$needed"

visible=$(readelf -sW "$2/lib/stab-runtime.o" | awk '($5 == "GLOBAL" || $5 == "WEAK") && $6 == "DEFAULT" && $7 != "UND" { print $8 }' | sort -u)
compare "what the runtime exports" "_Exit
__jit_debug_descriptor
__jit_debug_register_code
__sigsetjmp
_dl_find_object
_exit
_setjmp
aligned_alloc
calloc
free
getcontext
makecontext
malloc
malloc_usable_size
memalign
posix_memalign
prctl
pthread_cancel
pthread_create
pvalloc
realloc
reallocarray
setcontext
setjmp
stab_add_image
stab_begin
stab_end
stab_randomize
stab_remove_image
swapcontext
syscall
thrd_create
valloc" "$visible"

# Those of debuggers and of stabilizer.h need not be.
exported=$(sed -n 's/.*--export-dynamic-symbol=\([a-zA-Z_]*\)".*/\1/p' "$1/instrumenter/link_flags.h" | sort -u)
compare "what executables export" "$(grep -vE '^(__jit_|stab_(begin|end|randomize)$)' <<<"$visible")" "$exported"

code=$(readelf -SW "$2/lib/stab-runtime.o" | awk '/ AX / && $0 !~ / 000000 00  AX/ { sub(/^ *\[ *[0-9]+\] */, ""); print $1 }' | sort -u)
compare "sections with code" "stab_text" "$code"

needed=$(nm -u "$2/lib/stab-library.o" | awk '{ print $2 }' | sort -u)
compare "what a library needs" "__ehdr_start
stab_add_image
stab_remove_image" "$needed"

names=$(nm -D --defined-only "$2/lib/libstabheap.so" | awk '{ print $3 }' | sort)
compare "what libstabheap.so exports" "aligned_alloc
calloc
free
malloc
malloc_usable_size
memalign
posix_memalign
pvalloc
realloc
reallocarray
stab_other_heap
valloc" "$names"
exit $failures
