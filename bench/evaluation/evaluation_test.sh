#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The evaluation's list of programs has its form and its promised kinds, and its parts name their plans.
set -euo pipefail
. "$1/tests/lib.sh"
evaluation=$1/bench/evaluation
"$evaluation/program" --list >"$work/list"
awk '
  $1 in seen { print "two rows of " $1; bad = 1 }
  { seen[$1] = 1; traits = "," $4 "," }
  NF < 5 || $1 !~ /^[a-z0-9-]+$/ || $4 !~ /^c(\+\+)?(,(stl|throws|threads))*$/ { print "wrong row: " $0; bad = 1 }
  $5 == "fails" && NF < 6 { print $1 " fails without a reason"; bad = 1 }
  $5 != "fails" && (NF != 5 || $5 != "untried" && (length($5) != 64 || $5 ~ /[^0-9a-f]/)) { print "wrong check: " $0; bad = 1 }
  traits ~ /,c\+\+,/ && traits ~ /,(stl|throws),/ { cpp++ }
  traits ~ /,threads,/ { threads++ }
  { kinds[$3] = 1 }
  END {
    if (NR < 25 || cpp < 6 || threads < 5) { print NR " programs, " cpp " of C++, " threads " with threads"; bad = 1 }
    for (i = split("compressor interpreter database parser numerics media compiler solver", kind, " "); i; --i)
      if (!(kind[i] in kinds)) { print "no " kind[i]; bad = 1 }
    exit bad
  }' "$work/list"
# Each row says how it is built and used.
own=$evaluation
# shellcheck source=bench/evaluation/programs
. "$evaluation/programs"
while read -r name _; do
  declare -F "build_${name//[-.]/_}" "use_${name//[-.]/_}" >/dev/null || { echo "$name lacks a function"; exit 1; }
done <"$work/list"
"$evaluation/run" --list >"$work/parts"
[[ $(grep -c '^part [a-z]*: [a-z_0-9 ]*$' "$work/parts") == 4 ]]
# The page names each plan.
for plan in $(sed -n 's/^part [a-z]*: //p' "$work/parts"); do grep -qF "\`$plan\`" "$1/doc/evaluation.md" || { echo "doc/evaluation.md lacks $plan"; exit 1; }; done
status=0
"$evaluation/run" nothing 2>/dev/null || status=$?
[[ $status == 1 || $status == 2 ]]
# The page shows every part that has results, and each table is the one that the results give now.
shopt -s nullglob
for file in "$evaluation"/results/*.csv; do
  part=${file##*/} part=${part%.*.csv}
  grep -qFx "<!-- show $part -->" "$1/doc/evaluation.md" || { echo "doc/evaluation.md lacks the table of $part"; exit 1; }
done
cp "$1/doc/evaluation.md" "$work/page"
"$evaluation/show" --build "$build_directory" --page "$work/page"
diff "$1/doc/evaluation.md" "$work/page" || { echo "bench/evaluation/show --page doc/evaluation.md would change the page"; exit 1; }
# Each result says where and when it was measured.
for file in "$evaluation"/results/*.csv; do
  for word in date machine kernel commit; do grep -q "^$word ..*" "${file%.csv}.txt" || { echo "${file%.csv}.txt lacks its $word"; exit 1; }; done
done
[[ $(cat "$evaluation"/results/* /dev/null | wc -c) -lt 5000000 ]]
