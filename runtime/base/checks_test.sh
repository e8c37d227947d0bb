#!/bin/bash
# SPDX-License-Identifier: MIT
# checks_test.sh SOURCE BUILD: each assertion of the runtime cites an invariant that doc/runtime.md and the header named there have.
set -u
cd "$1" || exit 1
failures=0
fail() {
  echo "FAILED: $*"
  failures=1
}

# stated FILE START: the numbers of the list that follows this line.
stated() { awk -v start="$2" 'on && /^(\/\/ *)?[0-9]+\. / { sub(/^\/\/ */, ""); print int($1); next } on && !/^(\/\/.*|   .*)?$/ { exit } index($0, start) == 1 { on = 1 }' "$1"; }

cited=$(grep -hEzo 'STAB_(ALWAYS|DEBUG|EXPENSIVE)\([A-Z][a-z]+,\s*[0-9]+,' $(git ls-files -co --exclude-standard 'runtime/*.cc' 'runtime/*.h') |
  tr -d '\n' | tr '\0' '\n' | sed 's/.*(\([A-Za-z]*\), *\([0-9]*\),/\1 \2/' | sort -u)
[ "$(wc -l <<<"$cited")" -ge 8 ] || fail "only these are cited: $cited"
while read -r name number; do
  header=$(sed -n "s/^$name (.*\`\([a-z_]*\.h\)\`.*):\?\$/\1/p" doc/runtime.md | sed 's/^validate\.h/abi.h/')
  mapfile -t file < <(git ls-files -co --exclude-standard "runtime/*/$header")
  [ ${#file[@]} = 1 ] || { fail "doc/runtime.md does not say where the invariants $name are: $header"; continue; }
  stated doc/runtime.md "$name (" | grep -qx "$number" || fail "doc/runtime.md has no invariant $name $number"
  stated "${file[0]}" "// Invariants" | grep -qx "$number" || fail "$header has no invariant $number"
done <<<"$cited"
exit $failures
