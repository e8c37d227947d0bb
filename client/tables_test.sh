#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# 'stabctl analyze' of tables (tables/) that a plain test of means answers wrongly, or with advice that can't help.
set -euo pipefail
. "$1/tests/lib.sh"
tables=$1/client/tables
cd "$work"

analyze() { # analyze EXPECTED-EXIT-CODE TABLE ARGUMENTS...; the output is left in out and err, and in words as one line
  local expected=$1 table=$2 code=0
  shift 2
  "$stabctl" analyze "$tables/$table.csv" --response y "$@" --fail-on regressed,unsure >out 2>err || code=$?
  tr -s ' \n' ' ' <out >words
  [[ $code == "$expected" ]] || fail "exit code $code, not $expected: $table $*: $(cat out err)"
}
says() { # says FILE TEXT
  grep -qF -- "$2" "$1" || fail "'$2' is not in: $(cat "$1")"
}
lacks() {
  if grep -qF -- "$2" "$1"; then fail "'$2' is in: $(cat "$1")"; fi
}

# A cell without trials: nothing is said of it, and the words name the cells that are compared.
analyze 2 empty_cell --factors a,b
says words "The levels a=a1 and a=a2 are compared only at b=b2"
says words "The levels b=b1 and b=b2 are compared only at a=a2"
lacks words "averages over the other treatments' levels"
analyze 2 empty_cell_blocks --factors a,b --block k
says words "The levels a=a1 and a=a2 are compared only at b=b2"

# All of one level before all of the other: time may have made the change.
analyze 3 drift --factors v --order t
says words "no verdict on v=old against v=new"
says words "were measured one after the other"
# In random order neighbours that are alike do no harm, and raise no alarm.
analyze 3 random_order --factors v --order t
lacks words "Independence"
lacks words "one after the other"

# A clock that ticks: its steps are part of the interval.
analyze 3 ticks --factors v --block k
says words "The values of y move in steps of 10"
lacks words "10.0 to 10.0 %"
says words "use a finer clock"
lacks words "at least 6"
analyze 0 ticks --factors v --block k --resolution 0
says words "y than v=new (95 % interval 9.09 to 9.09 %"
analyze 3 ticks --factors v --block k --resolution 20

# Programs of different size: a mean of raw numbers is that of the largest.
analyze 3 raw_suite --factors v --block k --subject prog
says words "no verdict on v=old against v=new"
says words "dominates the mean of raw values"
says words "'--log' of 'stabctl analyze'"
analyze 3 raw_suite --factors v --block k --subject prog --log --margin 1%
lacks words "dominates the mean of raw values"
says words "with 5 progs a change of 20 % is found in 8 of 10 cases, for 1 % it would take about"

# One level lost trials that the other kept.
analyze 3 lost_in_one_arm --factors v --block k
says words "v=new lacks 13 of 30, and the level old lacks 0 of 30"
says words "whether this depends on the cell: "
says words "could be anything, because the missing values may have any size"
analyze 3 lost_in_one_arm --factors v --block k --json
says out '"loss_bounds": "extremes"'
says out '"loss_low": null'
says out '"loss_high": null'
says out '"loss_p": 0.000'
# Lee's bounds assume something, so they are asked for.
analyze 3 lost_in_one_arm --factors v --block k --losses monotone
says words "Lee's bounds assume that the level with more losses would also lose every trial that the other level lost"
analyze 3 lost_in_one_arm --factors v --block k --losses monotone --json
says out '"loss_bounds": "monotone"'
says out '"loss_low": 0.9'

# A trial that timed out took at least its limit: that bounds the change from one side, and a verdict may stand.
timed() { # timed NEW-1 [STEP]: each STEPth trial of new has no number
  awk -v new="$1" -v step="${2-7}" 'BEGIN { srand(3); print "k,v,y"; for (k = 0; k < 20; ++k)
    printf "%d,old,%.3f\n%d,new,%s\n", k, 100 + rand(), k, k % step == 2 ? "" : sprintf("%.3f", new + rand()) }'
}
tables=$work
timed 104 >slower.csv
analyze 1 slower --factors v --block k --baseline v=old --lost-at-least 3 --lost-at-most 2
says err "--lost-at-least is above --lost-at-most"
analyze 3 slower --factors v --block k --baseline v=old
says words "no verdict on v=new against v=old"
says words "ended these trials, give this limit ('--lost-at-least'"
analyze 2 slower --factors v --block k --baseline v=old --lost-at-least 300
says words "v=old lacks 0 of 20, and the level new lacks 3 of 20"
says words "or more, including the error of these bounds"
timed 96 >faster.csv
analyze 3 faster --factors v --block k --baseline v=old --lost-at-least 300
analyze 0 faster --factors v --block k --baseline v=old --lost-at-least 90 --lost-at-most 105
says words "including the error of these bounds"
# Bounds that are all on the other side turn it around, too.
timed 96 3 >hidden.csv
analyze 3 hidden --factors v --block k --baseline v=old --lost-at-least 300
says words "or more, including the error of these bounds"
says words "could be +"
# Few blocks of a typical run may be anything, many may not; an assumption is the user's.
analyze 0 faster --factors v --block k --baseline v=old --estimand typical
says words "this answer is about a typical run, not the mean"
analyze 0 faster --factors v --block k --baseline v=old --estimand median
says words "this answer is about the median, not the mean"
timed 96 3 >many.csv
analyze 3 many --factors v --block k --baseline v=old --estimand typical
analyze 3 many --factors v --block k --baseline v=old --estimand median
# Lee's bounds of a median leave out as many changes as are missing; five changes have no interval.
timed 98 99 | awk -F, -v OFS=, '$2 == "new" && $1 % 2 { $3 = "" } { print }' >half.csv
analyze 0 half --factors v --block k --baseline v=old --losses random --estimand median
analyze 3 half --factors v --block k --baseline v=old --losses monotone --estimand median
# Lee's bounds of a typical run are typical runs, too: a few blocks that stand out move neither end of them.
awk 'BEGIN { print "k,v,y"; for (k = 0; k < 20; ++k) { old = 100 + (k * 7 % 5) / 100
  printf "%d,old,%.2f\n%d,new,%s\n", k, old, k, k == 5 ? "" : sprintf("%.2f", old + (k % 7 == 2 ? 60 : -2 + (k * 3 % 11 - 5) / 20)) } }' >rare.csv
analyze 0 rare --factors v --block k --baseline v=old --estimand typical --losses monotone --json
says out '"loss_low": 0.97'
says out '"loss_high": 0.98'
# If a typical run is barely faster, the losses may be the reason, whatever the mean is.
{
  echo k,v,y
  k=0
  while read -r old new; do
    printf '%d,old,%s\n%d,new,%s\n' $k "$old" $k "${new#-}"
    k=$((k + 1))
  done
} >barely.csv <<'BLOCKS'
99.937 100.096
100.143 40.143
100.002 99.931
100.162 -
100.187 100.035
99.997 100.164
99.906 99.780
100.074 40.074
99.955 99.762
99.914 -
99.952 99.658
100.078 100.071
100.100 40.100
99.893 100.045
100.047 -
99.972 100.183
99.914 100.140
100.033 100.063
100.159 40.159
99.923 99.928
99.801 99.653
100.159 -
100.087 100.069
99.858 99.529
99.831 99.863
99.847 39.847
99.823 99.705
100.075 99.757
99.914 99.800
100.199 100.148
BLOCKS
analyze 3 barely --factors v --block k --baseline v=old --estimand typical --losses monotone
says words "no verdict on v=new against v=old"
analyze 0 many --factors v --block k --baseline v=old --losses random
says words "As requested, the missing trials are assumed to be missing at random"
# 'same' needs the bounds within the margin.
timed 100 >equal.csv
analyze 0 equal --factors v --block k --baseline v=old --margin 2% --lost-at-least 99 --lost-at-most 102
analyze 3 equal --factors v --block k --baseline v=old --margin 2% --lost-at-least 99
says words "no verdict on v=new against v=old"
# Without blocks, with seeds, and over programs.
analyze 3 slower --factors v --baseline v=old
says words "whether this depends on the cell: "
analyze 2 slower --factors v --baseline v=old --lost-at-least 300
analyze 3 slower --factors v --random k --seeds nested --baseline v=old
analyze 2 slower --factors v --random k --seeds nested --baseline v=old --lost-at-least 300
{ sed 's/^k/p,k/; 2,$s/^/sort,/' slower.csv; sed '1d; s/^/fft,/' slower.csv; } >suite.csv
analyze 3 suite --factors v --block k --subject p --baseline v=old --log --programs these
analyze 2 suite --factors v --block k --subject p --baseline v=old --log --programs these --lost-at-least 300
# Lee's bounds exist for one program; the mean over programs has those of the limits.
analyze 3 suite --factors v --block k --subject p --baseline v=old --log --programs these --losses monotone
analyze 2 suite --factors v --block k --subject p --baseline v=old --log --programs these --losses monotone --lost-at-least 300
# Also where a mean that is not above zero leaves no ratio, and in the procedure of 2013, whose tests may be of ranks.
awk -F, -v OFS=, 'NR > 1 && $3 != "" { $3 -= 200 } { print }' slower.csv >negative.csv
analyze 3 negative --factors v --block k --baseline v=old
says words "no verdict on v=new against v=old"
says words "could be anything"
analyze 2 negative --factors v --block k --baseline v=old --lost-at-least -90
says words "could be +4"
analyze 2 negative --factors v --block k --baseline v=old --lost-at-least -90 --json
says out '"loss_low": null'
says out '"loss_difference_low": 4.'
says out '"loss_difference_high": null'
for by in k ""; do
  analyze 3 slower --factors v ${by:+--block "$by"} --baseline v=old --method stabilizer
  says words "no verdict on v=new against v=old"
  analyze 2 slower --factors v ${by:+--block "$by"} --baseline v=old --method stabilizer --lost-at-least 300
done
# These tests are about the mean, so one trial of any size leaves no verdict, although a typical run does not depend on it.
awk -F, -v OFS=, 'NR > 1 && $3 == "" { if (lost++) $3 = 105 + NR % 3 } { print }' slower.csv >one_lost.csv
analyze 2 one_lost --factors v --block k --baseline v=old --estimand typical
analyze 3 one_lost --factors v --block k --baseline v=old --method stabilizer
says words "no verdict on v=new against v=old"
# So this procedure refuses what it would ignore; over several programs, it uses the margin and the average.
for unused in --log "--error pooled" "--average typical" "--margin 10%"; do
  read -ra options <<<"$unused"
  analyze 1 one_lost --factors v --block k --baseline v=old --method stabilizer "${options[@]}"
  says err "--method stabilizer"
  says err "leave ${options[0]}"
done
analyze 1 suite --factors v --block k --subject p --baseline v=old --method stabilizer --log
says err "leave --log out"
"$stabctl" analyze suite.csv --response y --factors v --block k --subject p --method stabilizer --margin 10% --estimand typical >out ||
  fail "with several programs, the procedure of 2013 refuses a margin or an average"
# stabd's own export says which trials ended at their timeout, and which ran at all.
export_of() { # export_of STATUS RUN-TIME: of the trials that slower.csv lacks
  awk -F, -v status="$1" -v ran="$2" 'NR == 1 {
    print "position,attempt,last,block,warmup,benchmark,v,seed,status,started_ns,wall_ns"; next
  } { print NR ",0,true," $1 ",false,sort," $2 ",1," ($3 == "" ? status : "ok") "," NR "," ($3 == "" ? ran : $3) }' slower.csv
}
own() { # own EXPECTED-EXIT-CODE FILE ARGUMENTS...
  local expected=$1 file=$2 code=0
  shift 2
  "$stabctl" analyze "$file.csv" --response wall_ns --factors v --block block --baseline v=old "$@" --fail-on regressed,unsure >out 2>err || code=$?
  tr -s ' \n' ' ' <out >words
  [[ $code == "$expected" ]] || fail "exit code $code, not $expected: $file $*: $(cat out err)"
}
export_of timeout 300 >ended.csv
own 2 ended
says words "or more, including the error of these bounds"
export_of signalled 300 >crashed.csv
own 3 crashed
says words "could be anything"
# The user's limits hold for these trials, too, unless a trial is known to have taken longer.
own 2 crashed --lost-at-least 300
says words "or more, including the error of these bounds"
own 2 ended --lost-at-most 1000
says words "could be between +"
own 2 ended --lost-at-most 100
says words "or more, including the error of these bounds"
export_of disturbed 105 >excluded.csv
own 2 excluded
sed '/,disturbed,/d' excluded.csv >unfinished.csv
own 2 unfinished
lacks words "trials are missing"
# Trials without random layouts are of no cell, whether they succeeded or not. Exports of other experiments lack their column.
awk -F, 'BEGIN { OFS = FS } NR == 1 { print $0, "random-layouts"; next } { print $0, ""; block[$4] = $0 }
  END { for (each in block) { $0 = block[each]; $1 += 1000; $7 = ""; $9 = each % 2 ? "ok" : "timeout"; print $0, "off" } }' ended.csv >plain.csv
own 2 plain
says words "of trials without random layouts"
answer=$(grep -m 1 ^Answer: out)
own 2 ended
[[ $(grep -m 1 ^Answer: out) == "$answer" ]] || fail "trials without random layouts change the answer"
tables=$1/client/tables

# Advice that fits: what more trials can't do is not offered.
analyze 3 confounded --factors v --block k
says words "The levels v=new and v=old can't be compared: no k has trials of both levels"
says words "More trials can't help"
lacks words "it needs more"
analyze 2 small --factors v
lacks words "normality."

# A treatment that helps at one level of the other and harms at the other one: that is part of the answer.
analyze 3 crossover --factors cc,opt --block k --log
says words "cc and opt interact: their changes differ by -18.3 %"
says words "opt=O2 -> O3 is +9.95 % at cc=clang and -10.1 % at cc=gcc"

# A trial that is missing may have made the interaction, unless its limits say that it has not.
tables=$work
sed 10d "$1/client/tables/crossover.csv" >gap.csv
analyze 3 gap --factors cc,opt --block k --log
says words "The interaction of cc:opt is significant (adjusted p = 0.00145), but trials are missing"
says words "the interaction could be anything"
lacks words "cc and opt interact"
says words "cc and opt may interact (p = 0.00145), but missing trials may also explain this result. If the treatments interact, a change"
analyze 3 gap --factors cc,opt --block k --log --margin 30%
says words "cc and opt may interact (p = 0.00145), but missing trials may also explain this result. If the treatments interact, a change"
analyze 3 gap --factors cc,opt --block k --log --lost-at-least 900 --lost-at-most 1100
lacks words "may interact"
says words "cc and opt interact: their changes differ by -18"
analyze 3 gap --factors cc,opt --block k --log --lost-at-least 900 --lost-at-most 1100 --json
says out '"loss_high": 0.8'
analyze 2 gap --factors cc,opt --block k --log --losses random
says words "cc and opt interact: their changes differ by -18"
# An interaction that has no bounds is only a possibility in the answer if trials are missing, wherever they are missing.
levels() { # levels HOW: 14 blocks, where each compiler is the faster one at other levels of opt; HOW changes rows
  awk 'BEGIN { srand(11); print "k,cc,opt,y"; for (k = 0; k < 14; ++k) for (c = 0; c < 2; ++c) for (o = 1; o < 4; ++o)
    printf "%d,%s,O%d,%.3f\n", k, c ? "gcc" : "clang", o, 1000 + 5 * rand() + (c ? 40 * (o - 2) : -40 * (o - 2)) }' |
    awk -F, -v OFS=, "$1"' { print }'
}
levels "" >whole.csv
levels 'NR == 20 { next }' >row.csv
levels 'NR == 20 { $4 = "" }' >value.csv
levels '$2 == "gcc" && $3 == "O3" { $4 = "" }' >cell.csv
levels '$2 == "gcc" && $3 == "O3" { next }' >rows.csv
for design in "--block k" "--block k --error pooled" "" "--random k --seeds nested"; do
  read -ra by <<<"$design"
  analyze 3 whole --factors cc,opt "${by[@]}" --log
  says words "cc and opt interact ("
  for file in row value cell rows; do
    # Only blocks show that a single row is not there.
    [[ $file != row || $design == "--block k"* ]] || continue
    analyze 3 "$file" --factors cc,opt "${by[@]}" --log
    lacks words "cc and opt interact"
    lacks words "treatments cc:opt interact"
    says words "The interaction of cc:opt is significant"
    says words "cc and opt may interact ("
    # Nobody knows whether rows that are not there were ever meant to be measured.
    if [[ $file == rows ]]; then
      says words "but there are no trials at 1 of 6 combinations of levels. If this is on purpose, say so with '--losses random'"
    else
      says words "but trials are missing, and the interaction has no bounds"
    fi
  done
  analyze 3 value --factors cc,opt "${by[@]}" --log --lost-at-least 900 --lost-at-most 1100
  lacks words "cc and opt interact"
  analyze 3 value --factors cc,opt "${by[@]}" --log --json
  says out '"reason": "the missing trials may have caused the interaction"'
  "$stabctl" analyze value.csv --response y --factors cc,opt "${by[@]}" --log --losses random >out
  says out "cc and opt interact ("
done
# With a pooled error, a lost cell of a block is as many lost trials as other blocks have there.
awk -F, 'NR == 1 || !($1 == 3 && $2 == "gcc" && $3 == "O1")' whole.csv | awk 'NR == 1 { print; next } { print; print; print }' \
  >three.csv
analyze 3 three --factors cc,opt --block k --error pooled --log --lost-at-least 900 --lost-at-most 1100
says words "cc=clang lacks 0 of 126, and the level gcc lacks 3 of 126 trials"
# Programs that are analysed separately answer for their own trials only; programs together for all.
{ sed 's/^k/p,k/; 2,$s/^/sort,/' whole.csv; sed '1d; s/^/fft,/' cell.csv; } >two.csv
analyze 3 two --factors cc,opt --block k --subject p --log
says words "sort: cc and opt interact ("
lacks words "fft: cc and opt interact"
says words "fft: cc and opt may interact ("
{ sed 's/^k/p,k/; 2,$s/^/sort,/' whole.csv; sed '1d; s/^/fft,/' value.csv; } >two.csv
analyze 3 two --factors cc,opt --block k --subject p --programs these --log
lacks words "cc and opt interact"
says words "cc and opt may interact ("
# A program without all combinations is no part of the programs together, so its losses are no losses of theirs.
{ sed 's/^k/p,k/; 2,$s/^/sort,/' whole.csv; sed '1d; s/^/uniq,/' whole.csv; sed '1d; s/^/fft,/' rows.csv; } >two.csv
analyze 3 two --factors cc,opt --block k --subject p --programs these --log
says words "cc and opt interact ("
tables=$1/client/tables

# Interactions that are not there are stated of no more than one table in 20, as documented. Every number here is noise.
tables=$work
noise() { # noise SEED BODY: an awk program that prints a table, with normal numbers from g()
  awk -v s="$1" 'function u() { s = (s * 16807) % 2147483647; return s / 2147483647 }
    function g(  i, x) { for (i = 0; i < 12; ++i) x += u(); return x - 6 }
    BEGIN { for (i = 0; i < 50; ++i) u(); '"$2"' }'
}
state() { # state TABLE ARGUMENTS...: sets stated to 1 if the table's answer states that a and b interact, else to 0
  "$stabctl" analyze "$tables/$1.csv" --metric y --factors a,b "${@:2}" --fail-on none >out 2>err || fail "$*: $(cat out err)"
  tr -s ' \n' ' ' <out >words
  stated=0
  if grep -qF "a and b interact" words; then stated=1; fi
}
# Three levels and two, in blocks whose neighbours are alike, and with one cell of few trials that vary more.
alike='print "k,a,b,y"; for (k = 0; k < 20; ++k) for (i = 0; i < 3; ++i) for (j = 0; j < 2; ++j) {
  x[i, j] = k ? 0.5 * x[i, j] + g() : g() / sqrt(1 - 0.25); printf "%d,a%d,b%d,%.4f\n", k, i, j, 1000 + x[i, j] }'
uneven='print "a,b,y"; for (i = 0; i < 3; ++i) for (j = 0; j < 2; ++j) { few = i + j == 0
  for (k = 0; k < (few ? 5 : 25); ++k) printf "a%d,b%d,%.4f\n", i, j, 1000 + g() * (few ? 10 : 1) }'
in_blocks=0
without=0
for seed in {1..40}; do
  noise "$seed" "$alike" >alike.csv
  noise "$seed" "$uneven" >uneven.csv
  state alike --block k --log
  in_blocks=$((in_blocks + stated))
  state uneven --log
  without=$((without + stated))
done
((in_blocks <= 6)) || fail "$in_blocks of 40 tables have an interaction of dependent blocks"
((without <= 6)) || fail "$without of 40 tables have an interaction of cells that vary differently"
# An interaction of as many levels that is there is stated, and JSON has its p.
awk -F, -v OFS=, 'NR > 1 && $2 == "a2" && $3 == "b1" { $4 += 20 } { print }' alike.csv >there.csv
state there --block k --log
[[ $stated == 1 ]] || fail "no interaction: $(cat words)"
"$stabctl" analyze there.csv --metric y --factors a,b --block k --log --fail-on none --json | sed -n '/"interactions"/,$p' >out
says out '"term": "a:b"'
says out '"ratio": null'
grep -Eq '"p_adjusted": [0-9.e-]+' out || fail "the interaction has no p: $(cat out)"
# The steps of the clock may make it: the true means may be 10.4, 10.45, 10.45 and 10.5.
awk 'BEGIN { print "k,a,b,y"; for (k = 0; k < 12; ++k) for (i = 0; i < 2; ++i) for (j = 0; j < 2; ++j)
  print k ",a" i ",b" j "," (i * j ? 11000000 : 10000000) }' >steps.csv
for scale in "" --log; do
  state steps --unit ns --block k ${scale:+"$scale"} --resolution 1000000
  [[ $stated == 0 ]] || fail "steps $scale: $(cat words)"
  state steps --unit ns --block k ${scale:+"$scale"} --resolution 0
  [[ $stated == 1 ]] || fail "exact $scale: $(cat words)"
done
# If it is smaller than the margin, the answer leaves it out, with and without logarithms.
awk 'BEGIN { print "k,a,b,y"; for (k = 0; k < 20; ++k) for (i = 0; i < 2; ++i) for (j = 0; j < 2; ++j)
  printf "%d,a%d,b%d,%.3f\n", k, i, j, 1000 + i * j / 2 + (k * 7 + i * 3 + j * 5) % 11 / 50 }' >tiny.csv
for scale in "" --log; do
  state tiny --block k ${scale:+"$scale"} --margin 5%
  [[ $stated == 0 ]] || fail "tiny $scale: $(cat words)"
  state tiny --block k ${scale:+"$scale"} --margin 0.01%
  [[ $stated == 1 ]] || fail "not tiny $scale: $(cat words)"
done
# Each file is one session, so nobody knows whether the versions or the sessions act differently at two levels.
session() { # session O2 O3
  awk -v two="$1" -v three="$2" 'BEGIN { print "opt,y"; for (i = 0; i < 30; ++i) {
    printf "O2,%.3f\nO3,%.3f\n", two + i * 7 % 30 / 30, three + i * 11 % 30 / 30 } }'
}
session 100 95 >old.csv
session 101 95 >new.csv
for scale in "" --log; do
  "$stabctl" analyze old.csv new.csv --factor version --metric y --factors opt ${scale:+"$scale"} --fail-on none >out
  tr -s ' \n' ' ' <out >words
  says words "no verdict on version=new"
  lacks words "opt and version interact"
  lacks words "opt:version interact"
done
tables=$1/client/tables

# Seeds that both levels share: two designs are possible, and the user decides.
analyze 1 seeds --factors v --random seed
says err "'--seeds crossed'"
says err "'--seeds nested'"
analyze 3 seeds --factors v --random seed --seeds crossed --full
says words "seed:v"
analyze 3 seeds --factors v --random seed --seeds nested --full
says words "Error(v:seed)"
says words "with 12 seeds a change of 9.1 % is found in 8 of 10 cases"
analyze 1 seeds --factors v --seeds crossed
says err "--seeds needs --random"
# stabd draws seeds for each cell, so it does not ask about the seeds of its own exports, but it does what the user says.
awk -F, -v OFS=, 'NR == 1 { print "position,attempt,block,benchmark,last,warmup,status,wall_ns,started_ns", $0; next }
  { print NR, 1, NR, "b", "true", "false", "ok", $3, NR, $0 }' "$tables/seeds.csv" >own.csv
tables=$PWD
analyze 3 own --factors v --random seed --full
says words "Error(v:seed)"
analyze 3 own --factors v --random seed --seeds crossed --full
says words "seed:v"
lacks words "Error(v:seed)"
tables=$1/client/tables

# Without blocks it is known, too, what such an experiment can see.
analyze 3 big --factors v --equivalence 0.1%
says words "with 1000 trials a change of"
says words "for 0.1 % it would take about"
lacks words "at least 6"

# A fraction of all combinations: what its effects can't be told apart from is found, or given.
analyze 2 frac --factors a,b,c,d --block k --log --full
says words "I = a:b:c:d"
says words "b:c:d"
cp out found
analyze 2 frac --factors a,b,c,d --block k --log --full --generators d=a:b:c
diff <(grep -v "a fraction of all combinations" found) <(grep -v "a fraction of all combinations" out) | grep -q '[0-9]\.[0-9]' &&
  fail "the given generators give other numbers"
analyze 1 frac --factors a,b,c,d --block k --log --generators d=a:b
says err "the table has cells that the generator d = a:b does not allow"

# What stands out does not move a typical run. Both are shown, and the user says which one decides.
awk 'BEGIN { print "k,v,y"; for (k = 0; k < 24; ++k) { a = 100 + (k * 7) % 5
  printf "%d,old,%.2f\n%d,new,%.2f\n", k, a, k, (a - 2 + (k * 11) % 3 / 10) * (k % 12 == 5 ? 1.6 : 1) } }' >tail.csv
tables=$work
analyze 3 tail --factors v --block k --log --baseline v=old
says out "A typical run"
says out "The verdict is about the mean, not about a typical run or the median"
analyze 0 tail --factors v --block k --log --baseline v=old --estimand typical
says out "The mean and the median"
analyze 0 tail --factors v --block k --log --baseline v=old --estimand median
says out "The verdicts above are about the median"
analyze 0 tail --factors v --block k --log --baseline v=old --estimand median --json
says out '"estimand": "median"'
[[ $(grep -c '"method": "\(mean\|typical\|median\)"' out) == 4 ]] || fail "not all averages: $(cat out)"
# Other quantiles, few blocks and trials without blocks have no median: each refusal says what to do.
analyze 1 tail --factors v --block k --baseline v=old --estimand p90
says err "--average accepts only one quantile, the median"
awk -F, 'NR == 1 || $1 < 5' tail.csv >few.csv
analyze 3 few --factors v --block k --baseline v=old --estimand median
says words "needs at least 6 ks, and there are 5, so there is no verdict"
analyze 3 tail --factors v --baseline v=old --estimand median
says words "Measure in blocks, or ask about the mean"
# Programs without a common block have no typical block, whatever their number of blocks is.
awk 'BEGIN { print "p,k,v,y"; for (p = 0; p < 2; ++p) for (k = 0; k < 20; ++k)
  printf "p%d,%d,old,%.2f\np%d,%d,new,%.2f\n", p, k + 100 * p, 100 + (k * 7 % 5) / 10, p, k + 100 * p, 97 + (k * 3 % 11) / 10 }' >apart.csv
for estimand in typical median; do
  analyze 3 apart --factors v --block k --subject p --baseline v=old --log --programs these --estimand $estimand
  says words "over these ps: it is computed from their mean change in each k, but the ps have no k in common"
  lacks words "there are 40"
done

# Blocks that resemble their neighbours: the interval is wider than that of independent ones, or there is no verdict.
dependent() { # dependent CORRELATION BLOCKS
  awk -v r="$1" -v n="$2" 'BEGIN { srand(7); print "k,v,y"; for (k = 0; k < n; ++k) {
    z = 0; for (i = 0; i < 12; ++i) z += rand(); e = r * e + sqrt(1 - r * r) * (z - 6)
    printf "%d,old,100\n%d,new,%.4f\n", k, k, 101 + e } }'
}
dependent 0.95 40 >slow.csv
analyze 3 slow --factors v --block k --baseline v=old
says words "too few for a verdict"
analyze 3 slow --factors v --block k --baseline v=old --json
says out '"independent_units"'
width() { # of the first change
  awk -F'[:,]' '/"low":/ && !l { l = $2 } /"high":/ && !h { h = $2 } END { print h - l }' out
}
dependent 0.5 60 >some.csv
"$stabctl" analyze some.csv --response y --factors v --block k --baseline v=old --json >out
sed -n '/"effects"/,$p' out >effects && mv effects out
wide=$(width)
"$stabctl" analyze some.csv --response y --factors v --block k --baseline v=old --json --independent-blocks >out
sed -n '/"effects"/,$p' out >effects && mv effects out
awk -v wide="$wide" -v narrow="$(width)" 'BEGIN { exit !(wide > 1.3 * narrow) }' || fail "dependent blocks: $wide, taken as independent: $(width)"
# Where the order was drawn a verdict needs the randomization test, too; both tests and their seed are shown.
drawn() { # drawn BLOCKS CHANGE [OUTLIER-IN-BLOCK]
  awk -v n="$1" -v change="$2" -v out="${3--1}" 'BEGIN { srand(5); print "k,v,y"; for (k = 0; k < n; ++k) {
    a = 100 + rand(); b = 100 + change + rand() + (k == out ? 40 : 0)
    if (rand() < 0.5) printf "%d,old,%.4f\n%d,new,%.4f\n", k, a, k, b; else printf "%d,new,%.4f\n%d,old,%.4f\n", k, b, k, a } }'
}
drawn 30 1 >clear.csv
analyze 2 clear --factors v --block k --baseline v=old --order-drawn --random-seed 7 --full
says words "Randomization test"
says words "random orders (seed 7)"
says words "made no difference in any block"
says words "the ratio between the levels is the same in all blocks"
analyze 2 clear --factors v --block k --baseline v=old --order-drawn --random-seed 7 --json
says out '"seed": 7'
says out '"p_adjusted": 0.0'
cp out once
analyze 2 clear --factors v --block k --baseline v=old --order-drawn --random-seed 7 --json
cmp -s out once || fail "the same seed gives other numbers"
analyze 2 clear --factors v --block k --baseline v=old --json
says out '"randomization": null'
# Few blocks have few orders: with six all 64 are counted, and with five no p is below 0.06.
drawn 6 3 >six.csv
analyze 2 six --factors v --block k --baseline v=old --order-drawn --json
says out '"draws": 64'
says out '"p": 0.03125'
drawn 5 3 >five.csv
analyze 2 five --factors v --block k --baseline v=old --order-drawn
says words "are too few for a randomization test"
# Seven blocks of which two go the other way a little: the test of the mean finds a change, the other one does not.
printf '%s\n' k,v,y >split.csv
for k in 1 2 3 4 5 6 7; do
  case $k in 7) b=99.9 ;; 6) b=99.95 ;; *) b=10$k ;; esac
  printf '%s,old,100\n%s,new,%s\n' $k $k "$b" >>split.csv
done
analyze 2 split --factors v --block k --baseline v=old
analyze 3 split --factors v --block k --baseline v=old --order-drawn
says words "Two tests of v=old and new disagree, so there is no verdict"
says words "a skewness of"
says words "without k "
# Without blocks trials are dealt again, and with seeds the seeds.
tables=$1/client/tables
analyze 3 big --factors v --order-drawn --json --equivalence 0.1%
says out '"units": 1000'
analyze 3 seeds --factors v --random seed --seeds nested --order-drawn --json
says out '"units": 12'
tables=$work
# Values without a logarithm are missing, and all of them are on one side.
awk 'BEGIN { print "v,y"; for (i = 0; i < 60; ++i) { print "old," 10 + i % 7 / 10; print "new," (i < 43 ? 0 : 20 + i % 5 / 10) } }' >zeros.csv
analyze 3 zeros --factors v --log --baseline v=old
says words "such a value has no logarithm"
lacks words "more y than"
# Decimal commas: numbers are numbers in each column.
printf 'v;t;y\n' >commas.csv
for i in 0 1 2 3 4 5 6 7; do printf '2,5;%s.25;10,%s\n10,5;%s,75;12,%s\n' "$i" "$i" "$i" "$i" >>commas.csv; done
analyze 2 commas --factors v --order t
says words "v=10,5 has"
# Refusals: what would be ignored, and what would be answered wrongly.
printf 'position,last,warmup,trial_status,measure,ordinal,v,y\n1,true,false,ok,m,1,old,1\n' >samples.csv
analyze 1 samples --factors v
says err "samples of a trial are not independent"
analyze 1 tail --factors v --block k --type 3
says err "with --block, --type 3 needs --error pooled"
"$stabctl" analyze tail.csv split.csv --response y --factors v --block k >out 2>err && fail "blocks of two files"
says err "--block and --machine work only with a single table"
"$stabctl" analyze tail.csv split.csv --response y --random k --seeds crossed >out 2>err && fail "seeds of two files"
says err "--seeds crossed works only with a single table"
# In a table that stabctl exported, a failed trial is a failed trial.
{
  echo position,attempt,block,benchmark,seed,wall_ns,started_ns,warmup,last,status,v,y
  for i in {0..19}; do echo "$i,1,$((i / 2)),b,1,100,$i,false,true,ok,v$((i % 2)),$((100 + i % 2 * 5 + i % 3))"; done
  echo 20,1,10,b,1,100,20,false,true,wrong_exit,v0,
} >own.csv
code=0
"$stabctl" analyze own.csv --response y --factors v --block block --fail-on trials >out 2>err || code=$?
[[ $code == 5 ]] || fail "a failed trial of an export: exit code $code: $(cat out err)"
echo "all as promised"
