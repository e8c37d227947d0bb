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
[[ $(grep -c '^part [a-z]*: [a-z_0-9 ]*$' "$work/parts") == 8 ]]
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
  part=${part/#cheap_*/cheap}
  grep -qFx "<!-- show $part -->" "$1/doc/evaluation.md" || { echo "doc/evaluation.md lacks the table of $part"; exit 1; }
done
cp "$1/doc/evaluation.md" "$work/page"
"$evaluation/show" --build "$build_directory" --page "$work/page"
diff "$1/doc/evaluation.md" "$work/page" || { echo "bench/evaluation/show --page doc/evaluation.md would change the page"; exit 1; }
# README.md has the answer of part 4, rounded in the same way.
read -r change low high < <(sed -n '/<!-- show levels -->/,/<!-- end -->/s/^| \*\*programs like these\*\* |.*| -\([0-9.]*\) (-\([0-9.]*\) to -\([0-9.]*\)) |$/\1 \2 \3/p' "$1/doc/evaluation.md")
tr '\n' ' ' <"$1/README.md" | grep -qF "saves **$change %** of CPU time over \`-O2\` (interval for programs like these: $high to $low)" || fail "README.md lacks $change, $high and $low"
read -r change low high < <(sed -n '/<!-- show levels_lto -->/,/<!-- end -->/s/^| \*\*programs like these\*\* | -\([0-9.]*\) (-\([0-9.]*\) to +\([0-9.]*\)) |$/\1 \2 \3/p' "$1/doc/evaluation.md")
tr '\n' ' ' <"$1/README.md" | grep -qF "With link-time optimization, \`-O3\` saves $change % (-$high to $low)" ||
  fail "README.md lacks $change, $high and $low of link-time optimization"
grep -q "In $(cut -d, -f6 "$evaluation"/results/levels.[0-9]*.csv | grep -vc '^benchmark$' | awk '{ print $1 / 30 }') real programs" "$1/README.md" ||
  fail "README.md has another number of programs"
# Each result says where and when it was measured.
for file in "$evaluation"/results/*.csv; do
  for word in date machine kernel commit; do grep -q "^$word ..*" "${file%.csv}.txt" || { echo "${file%.csv}.txt lacks its $word"; exit 1; }; done
done
[[ $(cat "$evaluation"/results/* /dev/null | wc -c) -lt 5000000 ]]

# Tables, pictures and recompute.R agree on made-up results whose numbers are known. Blocks drift by up to 10 %, and each
# deviation occurs with both signs. made NAME FACTORS LINE...: reads "block program factors cpu_ns epochs".
made() {
  awk -v factors="$2" 'BEGIN { print "position,attempt,last,block,warmup,benchmark," factors ",seed,status,layout_seed,epochs,cpu_ns" }
    { printf "%d,0,true,%d,false,%s,%s,1,%s,1,%d,%.0f\n", NR - 1, $1, $2, $3, $6 ? $6 : "ok", $5, $4 }' >"$work/results/$1.1.csv"
}
mkdir "$work/results"
awk 'BEGIN { for (i = 0; i < 30; ++i) for (p = 0; p < 3; ++p)
  print i, "a", p == 0 ? "3600000ms" : p == 1 ? "500ms" : "15ms", 1e9 + (i % 2 ? 1 : -1) * (i % 4 < 2 ? 1e7 : 5e6) / (p == 2 ? 2 : 1), p * 30 + 1 }' | made normality period
awk 'BEGIN { for (i = 0; i < 10; ++i) {
  base = 1e9 * (1 + i / 100); e = exp(i % 2 ? 0.01 : -0.01)
  print i, "a", "O1", base; print i, "a", "O2", base * 0.9 * e; print i, "a", "O3", base * 0.99
  print i, "b", "O1", base; print i, "b", "O2", base * 0.8; print i, "b", "O3", base * 0.8 * 0.95 * e
  if (!i) { print i, "once", "O1", base; print i, "once", "O2", base * 0.5; print i, "once", "O3", base * 0.4 }
  print i, "never", "O1", 0, 0, "crashed"; print i, "never", "O2", base; print i, "never", "O3", base / e } }' | made levels opt
awk 'BEGIN { for (i = 0; i < 8; ++i) { base = 1e9 * (1 + i / 100); e = exp(i % 2 ? 0.01 : -0.01)
  print i, "a", "clang,false,false,false," i, base
  for (k = 0; k < 8; ++k) print i, "a", "szc," (k % 2 ? "true" : "false") "," (int(k / 2) % 2 ? "true" : "false") "," (k > 3 ? "true" : "false") "," i, base * (1 + k / 100) * e } }' |
  made overhead_500ms compiler,code,stack,heap,link_order
# The levels differ by 10 ms, and the error is 3 ms with both signs in each level and block. So the variance of luck is
# 500 / 3 - 12 / 5 ms^2, and the variance of the error 12 ms^2.
awk 'BEGIN { for (i = 0; i < 5; ++i) for (k = 0; k < 4; ++k) {
  print i, "a", k + 1, 1e9 + (k * 10 - 15 + i * 25 - 50 + 3 * (k % 2 ? 1 : -1) * (i == 4 ? 0 : i % 2 ? 1 : -1)) * 1e6
  print i, "same", k + 1, 1e9
  if (!k) print i, "one", 1, 1e9 } }' | made bias_link_order link_order
awk 'BEGIN { for (i = 1; i <= 10; ++i) print 0, "a", "true,true,true," i, i == 3 ? 1e9 : i == 7 ? 1.2e9 : 1.1e9 + i }' | made layouts code,stack,heap,layout
awk 'BEGIN { for (i = 0; i < 10; ++i) { base = 1e9 * (1 + i / 100); e = exp(i % 2 ? 0.01 : -0.01)
  split("true,true,true true,false,false false,true,false false,false,true", of, " ")
  for (k = 1; k <= 4; ++k) { print i, "a", of[k] ",3", base; print i, "a", of[k] ",7", base * (1.12 - k * 0.02) * e } } }' | made layouts_again code,stack,heap,layout
# Two versions. With one build the second is 10 ms slower in each run. With paddings, the difference has the same size and both
# signs, so its variance is 1e-4 * 20 / 19. Random layouts find nothing, and lld's paddings failed.
awk 'BEGIN { for (i = 0; i < 20; ++i) for (k = 1; k <= 2; ++k) print i, "a", k ",1e9,6e9", 1e9 * exp(k == 2 ? 0.01 + (i % 2 ? 0.001 : -0.001) : 0) }' | made cheap_fixed link_order,wall_ns,link_ns
awk 'BEGIN { for (i = 0; i < 20; ++i) for (k = 1; k <= 2; ++k) print i, "a", k ",1e9,6e9", 1e9 * exp(k == 2 ? (i % 2 ? 0.01 : -0.01) : 0) }' | made cheap_padding link_order,wall_ns,link_ns
awk 'BEGIN { for (i = 0; i < 20; ++i) for (k = 1; k <= 2; ++k) print i, "a", k ",1e9,6e9", 0, 0, "crashed" }' | made cheap_lld link_order,wall_ns,link_ns
awk 'BEGIN { for (i = 0; i < 40; ++i) for (k = 1; k <= 2; ++k) print i, "a", k ",1e9,6e9", 1e9 * exp(k == 2 ? (i % 2 ? 0.02 : -0.02) : 0) }' | made cheap_layouts link_order,wall_ns,link_ns
for part in normality levels overhead_500ms bias_link_order cheap layouts_again; do printf '<!-- show %s -->\n<!-- end -->\n' "$part"; done >"$work/made.md"
show=("$evaluation/show" --build "$build_directory" --results "$work/results")
"${show[@]}" --page "$work/made.md"
while read -r line; do grep -qF "$line" "$work/made.md" || fail "the tables lack '$line': $(cat "$work/made.md")"; done <<'MD'
93 trials, 10 of them failed.
| a | 1; 31; 61 | 0.0001 | 0.0001 | 0.0001 | < 0.0001 | 0.82 % | 0.82 % | 0.41 % |
| a | -10.00 (-10.
| once | -50.00 | -20.00 |
| never | - |
| **all of these programs** | -15.15 (
| +1.00 (+0.10 to +1.91) | +2.00 (
| a | 1.28 % | +3.05 % | 3.96 % | 93 % | 0.0 % |
| same | 0.00 % | +0.00 % | 0.00 % | 0 % | 0.0 % |
| one | - | - | - | - | - |
200 trials, 40 of them failed.
| a | 100 % | 0.71 % | 0.3 | 0 % | 0.00 % | 2.4 | - | - | - | 0 % | 0.00 % | 1.4 |
| one build | 100.0 % (standard error 0.0) | 50 % |
| szc's paddings | 0.0 % (standard error 0.0) | 100 % |
one: fewer than two levels
| a | +20.00 | +10.00 (
In the median program 50 % of the difference comes back.
MD
"${show[@]}" --picture "$work/levels.svg" levels
[[ $(head -c 4 "$work/levels.svg") == '<svg' && $(grep -c '<circle' "$work/levels.svg") == 5 ]] || fail 'the picture lacks a program with an interval'
! grep -q once "$work/levels.svg" || fail 'the picture has a program without an interval'
# Each of three panels has the program's 30 runs; the middle of its normal distribution is the middle of the panel.
"${show[@]}" --picture "$work/normality.svg" normality
[[ $(grep -c '<polyline' "$work/normality.svg") == 3 && $(grep -c 'class="diagonal"' "$work/normality.svg") == 3 ]] || fail 'the picture lacks a panel'
[[ $(grep '<polyline' "$work/normality.svg" | head -n 1 | grep -oE '[0-9]+,[0-9]+' | wc -l) == 30 ]] || fail 'the picture lacks runs'
grep '<polyline' "$work/normality.svg" | head -n 1 | grep -oE '[0-9]+,[0-9]+' | awk -F, 'NR == 1 { first = $1 } { last = $1 } END { exit !((first + last) / 2 > 146 && (first + last) / 2 < 148 && first > 34 && last < 260) }' ||
  fail 'the quantiles are not symmetric'
! "${show[@]}" --picture "$work/none.svg" bias_link_order 2>/dev/null || fail 'a part without a picture has one'
# Program a's own p for the first step is about 0.008, so the step would count if only the program's three comparisons
# were corrected together.
awk 'BEGIN { for (i = 0; i < 10; ++i) { base = 1e9 * (1 + i / 100); e = exp(i % 4 % 3 ? -0.01 : 0.01)
  for (k = 1; k <= 20; ++k) { name = k == 1 ? "a" : k == 2 ? "clear" : "p" k
    print i, name, "O1", base
    print i, name, "O2", base * e * (k == 1 ? 0.9874 : k == 2 ? 0.9 : 1)
    print i, name, "O3", base * exp(i % 2 ? 0.01 : -0.01) * (k == 2 ? 0.9 : 1) } } }' | made levels_first opt
"${show[@]}" levels_first >"$work/corrected"
grep -qF 'makes 1 of 20 programs faster and 0 slower (5 % level, corrected for all comparisons).' "$work/corrected" ||
  fail "a correction for other comparisons: $(cat "$work/corrected")"
if command -v Rscript >/dev/null; then
  recompute=("$evaluation/recompute.R" --results "$work/results" --page "$work/made.md")
  Rscript "${recompute[@]}" >"$work/compared" 2>&1 || fail "recompute.R: $(cat "$work/compared")"
  grep -qx '56 numbers compared, 0 differ; .*' "$work/compared" || fail "recompute.R: $(cat "$work/compared")"
  sed -i 's/| 1.28 %/| 1.30 %/' "$work/made.md"
  ! Rscript "${recompute[@]}" >"$work/compared" 2>&1 || fail 'recompute.R accepts a wrong number'
else
  skipped 'recompute.R, because there is no Rscript'
fi

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

# run measures programs of which one always fails and one cannot be built, continues, and measures a changed plan in another folder. It runs
# here with programs that take no time.
mkdir "$work/own"
cp "$evaluation/run" "$work/own"
# It calls a function, because the frames of programs without calls can't have pads.
echo 'char* getenv(const char*); int main(int count, char** words) { return (getenv("HOME") == *words) + count - 1; } char text[LEVEL];' >"$work/own/own.c"
cat >"$work/own/program" <<'SH'
#!/bin/bash
here=$(cd "$(dirname "$0")" && pwd)
[ "$1" != --list ] || { echo 'good own solver c 0'; echo 'bad own solver c 0'; echo 'unbuilt own solver c 0'; exit; }
[ "$1" != --build ] || exec "$CC" "$CFLAGS" -DLEVEL=2 "$here/own.c" -o "$3"
word='' first=''
[ "$2" != unbuilt ] || first='false '
[ "$2" != bad ] || word=', "fails"'
cat <<TOML
[[benchmark]]
name = "$2"
build = "$first\${CC} \${CFLAGS} -DLEVEL=\$\$(echo \${CFLAGS} | tr -dc 0-9) \${LDFLAGS} \${PROFILE} $here/own.c -o \${OUT}"
sources = []
run = ["\${OUT}"$word]
check = { exit = 0 }

TOML
SH
chmod +x "$work/own/program"
own_run() { XDG_CACHE_HOME=$work/cache "$work/own/run" --build "$build_directory" "$@" >"$work/said" 2>&1 || { cat "$work/said"; fail "run $*"; }; }
own_run --dry levels 1
[[ ! -e $work/cache/stabd/evaluation/references ]] || fail "--dry compiles"
own_run levels 1
cd "$work/own/results"
[[ $(grep -c ',good,.*,ok,' levels.1.csv) == 30 && $(grep -cE ',(bad|unbuilt),.*,ok,' levels.1.csv) == 0 ]] || fail "the trials of run: $(cat levels.1.csv)"
awk -F, '
  NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
  $at["status"] == "ok" && ($at["relative_cpu"] <= 0 || ($at["cpu_ns"] / $at["beside-cpu-ns"] / $at["relative_cpu"] - 1) ^ 2 > 1e-6) { exit 1 }' levels.1.csv ||
  fail "the references of run: $(cat levels.1.csv)"
[[ $(grep -c ',unbuilt,.*,build_failed,' levels.1.csv) == 30 && $(cat "$work/said") == *'30 trials of levels with unbuilt could not be built'* ]] ||
  fail "nobody says that a build failed: $(cat "$work/said")"
[[ $(sed -n 's/^seed = //p' "$work"/cache/stabd/evaluation/parts/levels/*/plan/plan.toml | sort -u | wc -l) == 3 ]] || fail 'programs have the same seed'
"${show[@]}" --results "$work/own/results" levels >"$work/table"
cp levels.1.txt levels.1.csv "$work"
own_run levels 1
cmp levels.1.txt "$work/levels.1.txt" && cmp levels.1.csv "$work/levels.1.csv" || fail 'the same plan is measured again'
sed -i 's/build_timeout = "30min"/build_timeout = "29min"/' "$work/own/run"
own_run levels 1
[[ $(find "$work/cache/stabd/evaluation/parts/levels/good" -name 'run.*' | wc -l) == 2 ]] || fail 'a changed plan has the same folder'

# The runtime for part 8 gives nearly all frames the same pad, and a few of them a random one. Ours gives each a random pad.
cd "$work"
{
  echo '#include <stdio.h>'
  echo 'typedef long (*Function)(const char*);'
  # A function that calls nothing has no pad.
  echo '__attribute__((noinline)) void touch(volatile char* at) { *at = 1; }'
  # Each function returns how far its frame is from that of its caller, which is the pad and a constant.
  for ((i = 0; i < 600; ++i)); do
    echo "__attribute__((noinline)) long f$i(const char* above) { volatile char here[$((16 + i % 7 * 16))]; touch(here); return above - (const char*)here + 0 * here[0]; }"
  done
  echo 'int main(void) { Function all[] = {'; seq -f 'f%.0f,' 0 599; echo '};'
  echo '  for (int i = 0; i < 600; ++i) printf("%d %ld\n", i, all[i](__builtin_frame_address(0))); }'
} >pads.c
"$szc" -O2 pads.c -o ours
tree=$work/tree
mkdir -p "$tree/bin" "$tree/lib"
cp -L "$build_directory/bin/szc" "$tree/bin" && cp -r "$build_directory/libexec" "$tree"
cp "$build_directory/lib/"{stab-library.o,stab-pass-*.so,2013/stab-runtime.o} "$tree/lib"
"$tree/bin/szc" -O2 pads.c -o original
# zeros PROGRAM: how many of 20 * 600 frames are as small as those of the same function are at the smallest.
zeros() {
  for ((seed = 1; seed <= 20; ++seed)); do STABILIZER_OPTIONS=code=1:stack=1:heap=0:seed=$seed "./$1"; done |
    awk '{ if (!($1 in least) || $2 < least[$1]) { least[$1] = $2; zeros[$1] = 0 } zeros[$1] += $2 == least[$1] } END { for (f in zeros) all += zeros[f]; print all + 0 }'
}
ours=$(zeros ours) original=$(zeros original)
((original > 11700 && original < 11990)) || fail "$original of 12000 frames have no pad with the bytes of 2013"
((ours < 2000)) || fail "$ours of 12000 frames have no pad with ours"
