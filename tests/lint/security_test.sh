#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each promise of doc/security.md and doc/operations.md names tests, and they are there.
set -euo pipefail
cd "$1"

failed=0
for document in doc/security.md doc/operations.md; do
  promises=$(awk '/^- /{ if (p) print p; p = $0; next } /^$/{ if (p) print p; p = ""; next } p { p = p " " $0 } END { if (p) print p }' "$document")
  [[ $(wc -l <<<"$promises") -gt 10 ]] || { echo "$document has no promises"; exit 1; }
  while read -r promise; do
    mapfile -t names < <(grep -oE '`[A-Z][A-Za-z]+\.[A-Za-z0-9]+`' <<<"$promise" | tr -d '`')
    [[ ${#names[@]} -gt 0 ]] || { echo "no test holds: $promise"; failed=1; }
    for name in "${names[@]}"; do
      grep -rqE --include='*_test.cc' "TEST(_F|_P)?\(${name%.*}, ${name#*.}\)" . || { echo "there is no test $name"; failed=1; }
    done
  done <<<"$promises"
done
exit "$failed"
