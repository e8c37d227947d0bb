#!/bin/bash
# SPDX-License-Identifier: MIT
# checks_test.sh SOURCE BUILD: each assertion of the runtime cites an invariant that doc/runtime.md and the header named there
# have, and each invariant of a header is cited by an assertion or a test, as "Epochs 1".
set -u
cd "$1" || exit 1
failures=0
fail() {
  echo "FAILED: $*"
  failures=1
}

# stated FILE START: the numbers of the list that follows this line.
stated() { awk -v start="$2" 'on && /^(\/\/ *)?[0-9]+\. / { sub(/^\/\/ */, ""); print int($1); next } on && !/^(\/\/.*|   .*)?$/ { exit } index($0, start) == 1 { on = 1 }' "$1"; }

# header_of NAME: where doc/runtime.md says that these invariants stand.
header_of() {
  local header
  header=$(sed -n "s/^$1 (.*\`\([a-z_]*\.h\)\`.*):\?\$/\1/p" doc/runtime.md | sed 's/^validate\.h/abi.h/')
  git ls-files -co --exclude-standard "runtime/*/${header:-none}"
}

cited=$(grep -hEzo 'STAB_(ALWAYS|DEBUG|EXPENSIVE)\([A-Z][a-z]+,\s*[0-9]+,' $(git ls-files -co --exclude-standard 'runtime/*.cc' 'runtime/*.h' ':!runtime/base/check.h') |
  tr -d '\n' | tr '\0' '\n' | sed 's/.*(\([A-Za-z]*\), *\([0-9]*\),/\1 \2/' | sort -u)
[ "$(wc -l <<<"$cited")" -ge 8 ] || fail "only these are cited: $cited"
while read -r name number; do
  file=$(header_of "$name")
  [ "$(wc -w <<<"$file")" = 1 ] || { fail "doc/runtime.md does not say where the invariants $name are: $file"; continue; }
  stated doc/runtime.md "$name (" | grep -qx "$number" || fail "doc/runtime.md has no invariant $name $number"
  stated "$file" "// Invariants" | grep -qx "$number" || fail "$file has no invariant $number"
done <<<"$cited"

tests=$(git ls-files -co --exclude-standard '*_test.cc' '*_test.sh' '*_fuzz.cc' 'tests/programs/*')
tested=$(grep -hoE '\b[A-Z][a-z]+ [0-9]+\b' $(grep -v '/checks_test.sh$' <<<"$tests") | sort -u)
named=""
for name in $(sed -n 's/^\([A-Z][a-z]*\) (.*`[a-z_]*\.h`.*):\?$/\1/p' doc/runtime.md); do
  file=$(header_of "$name")
  named+=" $file"
  while read -r number; do
    grep -qx "$name $number" <<<"$cited"$'\n'"$tested" || fail "no assertion and no test cites $name $number of $file"
  done < <(stated "$file" "// Invariants")
done
for file in $(git grep -l '^// Invariants' -- 'runtime/*.h'); do
  [[ " $named " == *" $file "* ]] || fail "doc/runtime.md has no name for the invariants of $file"
done
exit $failures
