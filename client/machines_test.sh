#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# 'stabctl analyze --machine': the machine is a random effect. The numbers are checked against plain formulas in awk.
set -euo pipefail
. "$1/tests/lib.sh"
cd "$work"
machine=(--machine node)

analyze() { # analyze EXPECTED-EXIT-CODE TABLE ARGUMENTS...; the output is left in out and err, and in words as one line
  local expected=$1 table=$2 code=0
  shift 2
  "$stabctl" analyze "$table.csv" --response y --factors v --block b --baseline v=old "${machine[@]}" "$@" \
    --fail-on regressed,unsure >out 2>err || code=$?
  tr -s ' \n' ' ' <out >words
  [[ $code == "$expected" ]] || fail "exit code $code, not $expected: $table $*: $(cat out err)"
}
says() { # says FILE TEXT
  grep -qF -- "$2" "$1" || fail "'$2' is not in: $(cat "$1")"
}
lacks() {
  if grep -qF -- "$2" "$1"; then fail "'$2' is in: $(cat "$1")"; fi
}
simulate() { # simulate "CHANGE-IN-PERCENT:BLOCKS..."; machines n1, n2, ... have blocks of the same names
  awk -v of="$1" 'BEGIN {
    srand(7); print "node,b,v,y"; n = split(of, machines, " ")
    for (m = 1; m <= n; ++m) { split(machines[m], each, ":")
      for (b = 1; b <= each[2]; ++b) { common = rand()
        printf "n%d,%d,old,%.4f\nn%d,%d,new,%.4f\n", m, b, 100 + m + common + rand(),
               m, b, (100 + m) * (1 + each[1] / 100) + common + rand() } } }'
}
# The differences of blocks within machines: each machine weighs equally, whatever number of blocks it ran.
expected() { # expected CSV; prints: mean, error and df on these; error and df on machines like these; F, df, p's error df
  awk -F, 'NR > 1 { if ($3 == "old") old[$1, $2] = $4; else new[$1, $2] = $4; seen[$1, $2] = $1 }
    END {
      for (k in seen) { m = seen[k]; d = new[k] - old[k]; n[m]++; s[m] += d; q[m] += d * d }
      for (m in n) { mean[m] = s[m] / n[m]; v[m] = (q[m] - s[m] * mean[m]) / (n[m] - 1) / n[m]; ++k_
        all += mean[m]; squares += mean[m] ^ 2; sum += v[m]; parts += v[m] ^ 2 / (n[m] - 1) }
      all /= k_
      like = (squares - k_ * all ^ 2) / (k_ - 1)
      for (m in n) { w[m] = 1 / v[m]; W += w[m]; wm += w[m] * mean[m] }
      for (m in n) { A += w[m] * (mean[m] - wm / W) ^ 2 / (k_ - 1); B += (1 - w[m] / W) ^ 2 / (n[m] - 1) }
      printf "%.9g %.9g %.9g %.9g %.9g %.9g %.9g %.9g\n", all, sum / k_ ^ 2, sum ^ 2 / parts, like / k_, k_ - 1,
        A / (1 + 2 * (k_ - 2) / (k_ ^ 2 - 1) * B), (k_ ^ 2 - 1) / (3 * B), (like - sum / k_ < 0) ? 0 : like - sum / k_ }' "$1"
}
# field LIST NAME [SCOPE]: the number in a list of the report: of the effect with this scope, or of any
field() {
  awk -v list="  \"$1\":" -v name="\"$2\"" -v scope="${3+\"$3\"}" '
    /^  "/ { on = index($0, list) == 1; mine = scope == "" }
    on && /^      "/ { sub(/^ */, ""); sub(/,$/, ""); at = index($0, ": "); value = substr($0, at + 2)
      if ($0 ~ /^"programs":/ && scope != "") mine = value == scope
      if (mine && substr($0, 1, at - 1) == name) print value }' out
}
close() { # close WHAT A B
  awk -v a="$2" -v b="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; s = b < 0 ? -b : b; exit !(d <= 1e-5 * (s + 1e-9)) }' ||
    fail "$1: $2 is not $3"
}

# Unequal numbers of blocks, below the number from which blocks may depend on each other. Block 1 of two machines is
# not one block.
simulate "2:4 2.2:9 -3:6" >uneven.csv
analyze 2 uneven --json
read -r mean error df like like_df f error_df between < <(expected uneven.csv)
for scope in these like-these; do close "difference on $scope" "$(field effects difference $scope)" "$mean"; done
close "df of these" "$(field effects df these)" "$df"
close "df of machines like these" "$(field effects df like-these)" "$like_df"
# Student's two-sided p for any degrees of freedom: with x = sqrt(df) tan(a) its density is that of cos(a)^(df - 1).
two_sided() { # two_sided MEAN VARIANCE DF
  awk -v mean="$1" -v variance="$2" -v df="$3" '
    function area(from, i, n, step, sum) { n = 20000; step = (atan2(1, 0) - from) / n
      for (i = 0; i < n; ++i) sum += cos(from + (i + 0.5) * step) ^ (df - 1); return sum * step }
    BEGIN { t = mean / sqrt(variance); if (t < 0) t = -t; printf "%.9g", area(atan2(t, sqrt(df))) / area(0) }'
}
close "p on these" "$(field effects p these)" "$(two_sided "$mean" "$error" "$df")"
close "p on machines like these" "$(field effects p like-these)" "$(two_sided "$mean" "$like" "$like_df")"
close "F" "$(field machine_changes f)" "$f"
close "df of F" "$(field machine_changes df)" "$like_df"
close "df of F's error" "$(field machine_changes error_df)" "$error_df"
close "variance between machines" "$(field machine_changes between_changes)" "$between"
[[ $(grep -c '"machine": "n[0-9]' out) == 3 ]] || fail "not three machines: $(cat out)"
says out '"machine": "node"'
says out '"programs": "these"'

# The words: both answers, the machines that disagree, and what three machines mean.
analyze 2 uneven
says words "on these 3 nodes, "
says words "on nodes like these 3, "
says words "only 3 nodes were compared (2 degrees of freedom), so the interval for nodes like these is"
says words "the change from v=old to new is not the same on all nodes: "
says words "% on 2 nodes and -"
says words "% on 1 node (p < 0.0001)"

# Both questions may have different answers: --answer says which one decides.
simulate "2:9 3:9 9:9" >apart.csv
analyze 2 apart
analyze 2 apart --answer these
analyze 3 apart --answer like-these
says words "on nodes like these 3, "
says words "on these 3 nodes, v=new has 4.7"
says words "% on 3 nodes (p < 0.0001)"
simulate "3:6 3:6 3:6 3:6 3:6" >alike.csv
analyze 2 alike --answer like-these
lacks words "so the interval for nodes like these is"
lacks words "the change from v=old to new is not the same"

# A machine that lacks a side is never averaged over silently.
simulate "3:8 3:8 3:8 3:8" | awk -F, '!($1 == "n2" && $3 == "new")' >one_side.csv
for answer in these like-these; do
  analyze 3 one_side --answer $answer
  says words "the means leave out nodes that lack trials of a level (see the notes): n2"
  says words "Some nodes lack trials of a level"
done
analyze 3 one_side --json
says out '"reason": "not all nodes have both levels: n2"'
analyze 2 one_side --answer like-these --losses random
analyze 3 one_side --answer these --losses random

# A machine with one block has no error of its own, but machines like these need none.
simulate "3:8 3:8 3:8 3.1:1" >single.csv
analyze 3 single
says words "To estimate a node's own error, at least two bs are needed"
says words "Run more bs on: n4."
analyze 2 single --answer like-these
# One machine only: its own blocks answer.
simulate "3:8" >one.csv
analyze 2 one

machine=()
refused() { # refused TEXT ARGUMENTS...
  local text=$1
  shift
  analyze 1 uneven "$@"
  says err "$text"
}
refused "--machine is missing" --answer like-these
refused "--machine and --subject cannot be used together" --machine node --subject program
refused "named twice" --machine b
refused "--machine needs --average mean" --machine node --estimand median
refused "--machine needs --method standard and --error own" --machine node --error pooled
