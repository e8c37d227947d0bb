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
[[ $(grep -c '^part [a-z]*: [a-z_0-9 ]*$' "$work/parts") == 6 ]]
# The page names each plan.
for plan in $(sed -n 's/^part [a-z]*: //p' "$work/parts"); do grep -qF "\`$plan\`" "$1/doc/evaluation.md" || { echo "doc/evaluation.md lacks $plan"; exit 1; }; done
status=0
"$evaluation/run" --build "$build_directory" nothing 2>/dev/null || status=$?
[[ $status == 2 ]] || fail "an unknown part: exit code $status"
# The page shows every part that has results, and each table is the one that the results give now.
shopt -s nullglob
for file in "$evaluation"/results/*.csv; do
  part=${file##*/} part=${part%.*.csv}
  [ "$part" != layouts ] || continue # the table of layouts_again has them
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

# Programs with .test files become benchmarks: they are prepared, run where they expect it, and checked, in each build.
cat >"$work/sum.c" <<'C'
#include <stdio.h>
int main(int count, char** words) {
  int c, sum = 0;
  while ((c = getchar()) != EOF) sum += c;
  printf("%d %s\n", sum, count > 1 ? words[1] : "");
  return 0;
}
C
for level in O1 O2; do
  part=$work/$level/Misc
  mkdir -p "$part"
  "$clang" -$level "$work/sum.c" -o "$part/sum"
  echo abc >"$part/in"
  printf '304 42\nexit 0\n' >"$part/sum.reference_output"
  cat >"$part/sum.test" <<T
PREPARE: touch %S/prepared
RUN: cd $part ; $part/sum 42 < in
VERIFY: diff %o $part/sum.reference_output
T
  cat >"$part/two.test" <<'T'
RUN: ./sum $PWD < in > run0.txt
RUN: ./sum two \
 < in > run1.txt
# RUN: ./sum three \
# RUN:   < in > run2.txt
VERIFY: grep -q Misc run0.txt
VERIFY: grep -q two run1.txt
VERIFY: grep -q "^304 three" run2.txt
T
  sed 's/304/302/' "$part/sum.reference_output" >"$part/wrong.reference_output"
  sed "s/sum.reference/wrong.reference/" "$part/sum.test" >"$part/wrong.test"
done
echo 'RUN: ./sum x' >"$work/O1/Misc/alone.test"
mkdir "$work/plan"
"$evaluation/test_files" "O1=$work/O1" "O2=$work/O2" --repetitions 2 >"$work/plan/plan.toml" 2>"$work/left_out"
[[ $(cat "$work/left_out") == *"Misc/alone is left out: O2 has no such test"* ]]
"$stabctl" run --folder "$work/runs" --fail-on none "$work/plan/plan.toml" >"$work/report"
rm "$work"/O?/Misc/prepared
"$stabctl" export --folder "$work/runs" -o "$work/trials.csv"
states() { sqlite3 :memory: ".import --csv '$work/trials.csv' t" "SELECT benchmark || ' ' || level || ' ' || status || ' ' || count(*) FROM t WHERE last = 'true' GROUP BY benchmark, level, status" | xargs; }
[[ $(states) == "Misc-sum O1 ok 2 Misc-sum O2 ok 2 Misc-two O1 ok 2 Misc-two O2 ok 2 Misc-wrong O1 check_failed 2 Misc-wrong O2 check_failed 2" ]] ||
  fail "other trials: $(states)"

# A wait for full speed is written down, also when it is in vain. No loop takes a picosecond.
"$clang" -O2 "$evaluation/full_speed.c" -o "$work/full_speed"
echo 0.000000000001 >"$work/time"
"$work/full_speed" "$work/time" 0.05
grep -Eqx '[0-9.]+ [0-9.]+ in-vain' "$work/time.log"
[[ $(cat "$work/time") == 0.000000000001 ]]
echo 1000 >"$work/time"
"$work/full_speed" "$work/time" 1 "$work/log"
[[ $(cat "$work/time") == 0.* && $(wc -l <"$work/log") == 1 ]]

# run measures programs of which one always fails, continues, and measures a changed plan in another folder. It runs
# here with programs and a wait that take no time.
mkdir "$work/own"
cp "$evaluation/run" "$work/own"
cat >"$work/own/full_speed.c" <<'C'
#include <stdio.h>
int main(int count, char** words) {
  FILE* log = fopen(words[count - 1], "a");
  return !log || fprintf(log, "1.00 1.200 in-vain\n") < 0 || fclose(log);
}
C
echo 'int main(int count, char** words) { return (void)words, count - 1 + 0 * LEVEL; } char text[LEVEL];' >"$work/own/own.c"
cat >"$work/own/program" <<'SH'
#!/bin/bash
here=$(cd "$(dirname "$0")" && pwd)
[ "$1" != --list ] || { echo 'good own solver c 0'; echo 'bad own solver c 0'; exit; }
word=''
[ "$2" != bad ] || word=', "fails"'
cat <<TOML
[[benchmark]]
name = "$2"
build = "\${CC} \${CFLAGS} -DLEVEL=\$\$(echo \${CFLAGS} | tr -dc 0-9) \${LDFLAGS} \${PROFILE} $here/own.c -o \${OUT}"
sources = []
run = ["\${OUT}"$word]
check = { exit = 0 }

TOML
SH
chmod +x "$work/own/program"
own_run() { XDG_CACHE_HOME=$work/cache "$work/own/run" --build "$build_directory" "$@" >"$work/said" 2>&1 || { cat "$work/said"; fail "run $*"; }; }
own_run --dry levels 1
[[ ! -e $work/cache/stabd/evaluation/full_speed ]] || fail "--dry compiles"
own_run levels 1
cd "$work/own/results"
[[ $(grep -c ',good,.*,ok,' levels.1.csv) == 30 && $(grep -c ',bad,.*,ok,' levels.1.csv) == 0 ]] || fail "the trials of run: $(cat levels.1.csv)"
grep -qx "slow-starts \\([0-9]*\\) of \\1" levels.1.txt || fail "the waits of run: $(cat levels.1.txt)"
cp levels.1.txt levels.1.csv "$work"
own_run levels 1
cmp levels.1.txt "$work/levels.1.txt" && cmp levels.1.csv "$work/levels.1.csv" || fail 'the same plan is measured again'
sed -i 's/build_timeout = "30min"/build_timeout = "29min"/' "$work/own/run"
own_run levels 1
[[ $(find "$work/cache/stabd/evaluation/parts/levels/good" -name 'run.*' | wc -l) == 2 ]] || fail 'a changed plan has the same folder'
