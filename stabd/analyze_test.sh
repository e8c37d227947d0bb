#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# 'stabctl analyze' as a user calls it: verdicts as exit codes when they are asked for as such, JSON, and what it says of bad input.
set -euo pipefail
. "$1/tests/lib.sh"
cd "$work"

# analyze EXPECTED-EXIT-CODE ARGUMENTS...; the output is left in out and err
analyze() {
  local expected=$1 code=0
  shift
  "$stabctl" analyze "$@" --fail-on regressed,unsure >out 2>err || code=$?
  [[ $code == "$expected" ]] || fail "exit code $code, not $expected: analyze $*: $(cat out err)"
}

says() { # says FILE TEXT
  grep -qF -- "$2" "$1" || fail "'$2' is not in: $(cat "$1")"
}

# opt changes y by the given factor; 20 blocks with their own level.
data() {
  awk -v change="$1" 'BEGIN {
    print "block,opt,y"
    for (b = 1; b <= 20; ++b) for (o = 2; o <= 3; ++o) {
      seed = (16807 * (seed ? seed : 42)) % 2147483647
      printf "%d,O%d,%.6f\n", b, o, (100 + b) * (o == 3 ? change : 1) * (1 + 0.01 * (seed / 2147483647 - 0.5))
    }
  }'
}

data 0.9 >faster.csv
data 1.1 >slower.csv
data 1 >equal.csv

analyze 0 faster.csv --response y --factors opt --block block --log
says out "opt=O3 has 1"
says out "less y than opt=O2"
analyze 0 faster.csv --response y --factors opt --block block --log --full
says out "log(y) ~ opt + Error(block/opt)"
analyze 2 slower.csv --response y --factors opt --block block
"$stabctl" analyze slower.csv --response y --factors opt --block block >out || fail "a verdict is an answer"
says out "more y than opt=O2"
analyze 3 equal.csv --response y --factors opt --block block
analyze 0 equal.csv --response y --factors opt --block block --equivalence 2%
says out "the same within 2 %"
analyze 0 slower.csv --response y --factors opt --block block --baseline opt=O3
analyze 0 - --response y --factors opt --block block <faster.csv

# JSON has what it promises, and nothing else is printed.
analyze 0 faster.csv --response y --factors opt --block block --json
for key in '"model": "y ~ opt + Error(block/opt)"' '"anova"' '"assumptions"' '"effects"' '"verdict": "faster"' '"term": "Residuals"' \
  '"test": "Shapiro-Wilk"'; do
  says out "$key"
done
[[ ! -s err ]] || fail "something on stderr: $(cat err)"

# The same data in another dress gives the same analysis, but for its name.
sed -e '1s/^/\xEF\xBB\xBF/' -e 's/,/;/g' -e 's/\./,/' -e 's/O\([23]\)/"O\1"/' -e 's/$/\r/' faster.csv >dressed.csv
cp out plain.json
analyze 0 dressed.csv --response y --factors opt --block block --json
diff <(grep -v '"source"' plain.json) <(grep -v '"source"' out) || fail "the dressed file differs"

# NIST's SmLs09: F = 2001 although doubles hold the numbers to four decimals only.
awk 'BEGIN { print "t,y"; for (t = 1; t <= 9; ++t) { m = t == 1 ? 4 : t % 2 == 0 ? 3 : 5
  for (i = 0; i < 2001; ++i) printf "%d,1000000000000.%d\n", t, i == 0 ? m : i % 2 == 1 ? m - 1 : m + 1 } }' >smls09.csv
analyze 2 smls09.csv --response y --factors t --json
grep -Eq '"F": (2001\.0000000|2000\.9999999)' out || fail "F is not 2001: $(grep '"F"' out)"

# Several programs: one model of all of them. Changes that do not vary between programs at all are changes.
for p in a b c; do tail -n +2 faster.csv | sed "s/^/$p,/"; done | sed '1i program,block,opt,y' >suite.csv
analyze 0 suite.csv --response y --factors opt --subject program --block block
says out "on programs like these 3, opt=O3 has 1"
analyze 0 suite.csv --response y --factors opt --subject program --block block --method stabilizer --full
says out "y ~ opt + Error(program/opt)"

# Raw numbers have interactions as differences of differences.
awk 'BEGIN { print "block,opt,heap,y"; for (b = 1; b <= 12; ++b) for (o = 2; o <= 3; ++o) for (h = 0; h <= 1; ++h)
  printf "%d,O%d,h%d,%.3f\n", b, o, h, 100 + b + (o == 3) * 3 + h * 2 + (o == 3 && h) * 1.5 + (b * (o + 2 * h) * 7 % 5) / 10 }' >cells.csv
analyze 2 cells.csv --response y --factors opt,heap --block block
says out "With --full: interactions, "
analyze 2 cells.csv --response y --factors opt,heap --block block --full
says out "interaction  difference"
grep -Eq 'opt:heap +\+1\.' out || fail "no difference of differences: $(grep opt:heap out)"

# Few units are said in the answer; more can be better; what has no ratio has a difference.
head -n 7 faster.csv >few.csv
analyze 0 few.csv --response y --factors opt --block block
says out "With 2 degrees of freedom from 3 blocks, only large effects can be seen"
analyze 0 slower.csv --response y --factors opt --block block --higher-is-better
says out "more is better"
awk -F, 'BEGIN { OFS = "," } NR > 1 { $3 -= 200 } { print }' faster.csv >negative.csv
analyze 0 negative.csv --response y --factors opt --block block
grep -Eq 'opt: O2 -> O3 +-1[0-9.]+ +-1[0-9.]+ to -1[0-9.]+ ' out || fail "no difference: $(cat out)"

# The order of rows is that of time only if a column says so.
says out "Independence is not tested, because the"
awk 'BEGIN { print "when,opt,y"; for (i = 1; i <= 40; ++i)
  printf "%d,O%d,%.3f\n", (i * 7) % 41, 2 + i % 2, 100 + ((i * 7) % 41) / 4 + (i * 13 % 10) / 10 }' >drift.csv
analyze 3 drift.csv --response y --factors opt --json
grep -q '"test": "runs"' out && fail "independence tested although the order is unknown"
analyze 3 drift.csv --response y --factors opt --order when --full
says out "Independence of the trials is rejected"
sort -t, -k3 -n drift.csv >sorted.csv
cp out first
analyze 3 sorted.csv --response y --factors opt --order when --full
diff <(sed 1d first) <(sed 1d out) || fail "the order of rows matters although a column says what it is"
analyze 1 drift.csv --response y --order opt
says err "line 2, column 2: 'O3' does not say when the row was measured"
analyze 1 drift.csv --response y --factors opt --order whe
says err "did you mean when?"
analyze 1 drift.csv --response y --factors opt --order y
says err "named twice"
sed 's/^[0-9]*,/1,/' drift.csv >tied.csv
analyze 3 tied.csv --response y --factors opt --order when
says out "In 40 rows, the column when has the same value as in another row;"

# stabd's own export: what is no measurement is no data, and the time is known.
awk 'BEGIN { print "position,attempt,last,block,warmup,benchmark,opt,seed,status,started_ns,wall_ns"
  for (b = 0; b < 12; ++b) for (o = 0; o < 2; ++o) { n = 2 * b + o
    printf "%d,0,%s,%d,%s,sort,O%d,7,%s,%d,%s\n", n, n == 9 ? "false" : "true", b, b < 2 ? "true" : "false", o,
      n == 9 || n == 15 ? "timeout" : "ok", 1000 + n, n == 9 || n == 15 || b < 2 ? 99999 : 1000 + 100 * o + (b * 5 + o) % 7
    if (n == 9) printf "9,1,true,%d,false,sort,O1,7,ok,1030,1104\n", b } }' >export.csv
# Without a limit for the trial that is missing there is no verdict; where it is taken for a random loss there is one.
analyze 3 export.csv --response wall_ns --factors opt --block block
says out "lacks 0 of 10"
analyze 2 export.csv --response wall_ns --factors opt --block block --losses random
says out "export.csv, 19 trials"
says out "Left out: 6 rows of stabd's export (4 of warm-up trials, 1 of attempts"
says out "opt=O1 has 9.95 % more wall_ns than opt=O0"
grep -q "in the order of time" out && fail "the order of the export is known: $(cat out)"
cut -d, -f1-9,11 export.csv >others.csv
analyze 3 others.csv --response wall_ns --factors opt --block block
says out "others.csv, 25 trials"
grep -q "left out: " out && fail "rows of somebody's file left out: $(cat out)"

# Bad input: exit code 1, one line, and what to change.
analyze 1 none.csv --response y --factors opt
says err "cannot open none.csv"
analyze 1 faster.csv --response yy --factors opt
says err "there is no column yy; did you mean y?"
analyze 1 faster.csv --response y --factors opt,y
says err "named twice"
analyze 1 faster.csv --response opt --factors block
says err "line 2, column 2: 'O2' is not a number"
printf 'opt,y\na,1\nb\n' >short.csv
analyze 1 short.csv --response y --factors opt
says err "short.csv: line 3, column 1: the row has 1 cells, but the header has 2"
printf 'opt,y\na,1\n"b,2\n' >quote.csv
analyze 1 quote.csv --response y --factors opt
says err "line 3, column 1: the quote that begins here never ends"
analyze 1 faster.csv --response y --factors opt --equivalence 0
says err "above 0"
analyze 1 faster.csv --response y --factors opt --baseline opt=O1
says err "has no level O1"
analyze 1 faster.csv --response y --factors opt --log --raw
analyze 1 faster.csv
analyze 1 .
head -c 2000 /dev/zero >zeros.csv
analyze 1 zeros.csv --response y --factors opt
says err "this is not text"

# Data that cannot be told apart says so, with a note and never a NaN.
printf 'opt,y\na,5\na,5\nb,5\nb,5\n' >constant.csv
printf 'opt,y\na,1\nb,2\n' >single.csv
printf 'opt,y\na,1\na,2\na,3\n' >one.csv
printf 'opt,y\na,1\nb,nan\nb,inf\na,\n' >holes.csv
printf 'opt,y\na,1e300\na,1e-300\nb,1e5\nb,2e5\n' >wild.csv
for file in constant single one holes wild; do
  analyze 3 $file.csv --response y --factors opt
  says out "Notes"
  grep -Eiq 'nan|inf ' out && fail "a NaN in $file: $(cat out)"
  analyze 3 $file.csv --response y --factors opt --log --json
  grep -Eiq ': -?(nan|inf)' out && fail "a NaN in $file: $(cat out)"
done

analyze 0 --help
says out "--response"
says out "Column that shows when each row was measured"
echo "all as promised"
