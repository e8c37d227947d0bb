#!/bin/bash
# SPDX-License-Identifier: MIT
# symbols_test.sh SOURCE BUILD: libstabcausal.so gives a program the names of its table and those of progress points, the
# document has the same table, and it takes nothing from libc but what is listed here.
set -u
library=$2/lib/libstabcausal.so
table=$1/causal/preload/interposed.inc
failures=0

# compare TITLE EXPECTED ACTUAL
compare() {
  [ "$2" = "$3" ] && return
  echo "FAILED: $1"
  diff <(echo "$2") <(echo "$3")
  failures=1
}

names=$(sed -n 's/^STAB_CALL([a-z]*, \([^,]*\), .*/\1/p' "$table")
exported=$(nm -D --defined-only "$library" | awk '{ print $3 }' | sort)
compare "exports" "$(printf '%s\n' "$names" _coz_add_delays _coz_get_counter _coz_post_block _coz_pre_block stab_visit | sort)" "$exported"

libc=$(ldconfig -p | awk '/libc\.so\.6.*x86-64/ { print $NF; exit }')
compare "names that libc has not" "" "$(comm -23 <(echo "$names" | sort) <(nm -D --defined-only "$libc" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort -u))"

compare "what it needs, beside the names that it puts before libc's" "__cxa_finalize
__errno_location
__libc_stack_end
__register_atfork
_dl_find_object
dlsym
dlvsym
getauxval
getenv
memcpy
memset
pthread_key_create
pthread_setspecific
pthread_testcancel
sigaddset
sigdelset
sigfillset
sigismember
stab_original_address_1" "$(nm -D "$library" | awk '$1 == "U" || $1 == "w" { sub(/@.*/, "", $2); print $2 }' | grep -v '^_ITM\|^__gmon' | sort -u)"
compare "libraries" "libc.so.6
ld-linux-x86-64.so.2" "$(readelf -d "$library" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')"

rows=$(sed -n 's/^STAB_CALL(\([a-z]*\), \([^,]*\), .*/\1 \2/p' "$table" |
  awk '$1 == kind { names = names ", `" $2 "`"; next } { if (kind) print kind ": " names; kind = $1; names = "`" $2 "`" } END { print kind ": " names }')
compare "names in README.md" "$rows" "$(sed -n '/^| kind | what/,$p' "$1/causal/preload/README.md" | tail -n +3 | sed 's/^| \([a-z]*\) | [^|]* | \(.*\) |$/\1: \2/')"
exit $failures
