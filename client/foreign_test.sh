#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# 'stabctl analyze' of what hyperfine and Google Benchmark wrote, and of several files.
set -euo pipefail
. "$1/tests/lib.sh"
cd "$work"

analyze() { # analyze EXPECTED-EXIT-CODE ARGUMENTS...; the output is left in out and err, text in one line in words
  local expected=$1 code=0
  shift
  "$stabctl" analyze "$@" >out 2>err || code=$?
  [[ $code == "$expected" ]] || fail "exit code $code, not $expected: analyze $*: $(cat out err)"
  tr -s ' \n' ' ' <out >words
}
says() { # says FILE TEXT
  grep -qF -- "$2" "$1" || fail "'$2' is not in: $(cat "$1")"
}
lacks() {
  if grep -qF -- "$2" "$1"; then fail "'$2' is in: $(cat "$1")"; fi
}

# result COMMAND SECONDS [CODE-OF-THE-THIRD-RUN [PARAMETERS]]: 12 runs that vary by some tenths of a percent.
result() {
  awk -v command="$1" -v mean="$2" -v third="${3:-0}" -v parameters="${4:-}" 'BEGIN {
    for (i = 1; i <= 12; ++i) {
      times = times (i > 1 ? "," : "") mean * (1 + ((i * 7) % 12 - 5.5) / 2000)
      codes = codes (i > 1 ? "," : "") (i == 3 ? third : 0)
    }
    printf "{\"command\":\"%s\",\"mean\":%s,\"stddev\":0.1,\"median\":9,\"user\":9,\"system\":9,\"min\":9,\"max\":9,", command, mean
    printf "\"times\":[%s],\"exit_codes\":[%s]%s}", times, codes, parameters == "" ? "" : ",\"parameters\":{" parameters "}" }'
}
hyperfine() { # hyperfine RESULTS...
  local IFS=,
  printf '{"results":[%s]}\n' "$*"
}

hyperfine "$(result 'sort -n' 0.1)" "$(result 'sort -g' 0.11)" >two.json
analyze 0 two.json
says words "command=sort -g takes 10.00 % more time than command=sort -n"
says out "100.00 ms"
says words "Each command was a single binary in a single environment, so a difference may come from the layouts alone"
says words "hyperfine measures one version after the other"
analyze 2 two.json --fail-on regressed
analyze 0 two.json --baseline 'command=sort -g'
says words "command=sort -n takes 9.09 % less time than command=sort -g"
analyze 0 - --json <two.json
says out '"verdict": "slower"'
says out '"unit": "ns"'

# Parameters that tell all commands apart are the factors.
hyperfine "$(result 'a 1 x' 0.1 0 '"n":"1","m":"x"')" "$(result 'a 2 x' 0.2 0 '"n":"2","m":"x"')" \
  "$(result 'a 1 y' 0.1 0 '"n":"1","m":"y"')" "$(result 'a 2 y' 0.2 0 '"n":"2","m":"y"')" >grid.json
analyze 0 grid.json --log
says words "n=2 takes 100.00 % more time than n=1"
says words "m: x -> y"
hyperfine "$(result 'a 1' 0.1 0 '"n":"1"')" "$(result 'b 1' 0.2 0 '"n":"1"')" >same.json
analyze 0 same.json
says words "command=b 1 takes 100.00 % more time than command=a 1"
analyze 1 grid.json --factors n
says err "--factors n do not distinguish 'a 1 x' from 'a 1 y'"
analyze 0 grid.json --factors n --subject m
says words "2 of 2 comparisons within a single m found a change"
sed 's/"n":/"file":/g' grid.json >named.json
cp named.json again.json
analyze 1 named.json again.json --factors file,m
says err "the factor that tells the files apart is named file, but a column already has this name"
analyze 0 named.json again.json --factors file,m --factor version
analyze 1 grid.json --factors k
says err "there is no column 'k'; the columns are 'command', 'm', 'n'"

# Two files are two sessions: changes with intervals, and no verdict.
hyperfine "$(result ./old 0.1)" >old.json
hyperfine "$(result ./new 0.11 139)" >new.json
analyze 5 old.json new.json
says words "no verdict: each level has only one file"
says words "file: old -> new"
says words "1 of 12 runs of './new' of new failed and are left out."
says words "Each file has only one command, so the following commands are compared: './old', './new'."
analyze 0 old.json new.json --fail-on none
analyze 3 old.json new.json --fail-on unsure --factor version=main,branch
says words "version: main -> branch"
hyperfine "$(result ./new 0.11 null)" >killed.json
analyze 5 old.json killed.json
# What is gone is said in the error, too, and nothing that can be compared is an error.
sed 's/"exit_codes":\[[^]]*\]/"exit_codes":[1,1,1,1,1,1,1,1,1,1,1,1]/' two.json >failed.json
analyze 1 failed.json
says err "only one command has values, so there is nothing to compare"
says err "; 'sort -n' is left out: all of its runs failed"
hyperfine "$(result a 0.1)" "$(result b 0.1)" >whole.json
sed 's/"exit_codes":\[[^]]*\]/"exit_codes":[1,1,1,1,1,1,1,1,1,1,1,1]/g' whole.json >gone.json
analyze 1 whole.json gone.json --fail-on none
says err "nothing of gone has values; 'a' of gone is left out: all of its runs failed; 'b' of gone"
sed 's/"exit_codes"/"accepted_exit_codes":[2,1],"exit_codes"/' failed.json >accepted.json
analyze 0 accepted.json
says words "command=sort -g takes 10.00 % more time than command=sort -n"
sed 's/"exit_codes"/"accepted_exit_codes":[2,"1",null],"exit_codes"/' failed.json >accepted.json
analyze 1 accepted.json
analyze 1 old.json new.json --factor command
says err "the factor that tells the files apart is named command, but a column already has this name: give the factor another name with --factor"
hyperfine "$(result a 0.1)" "$(result b 0.2)" "$(result c 0.2)" >first.json
hyperfine "$(result b 0.2)" "$(result a 0.1)" "$(result d 0.2)" >second.json
analyze 0 first.json second.json
says words "The following commands are left out, because a file lacks them or has no values for them: 'c', 'd'."
says words "a file: first -> second"
says words "against file=first, file=second is without a verdict on 2 of 2 (a, b)"
lacks words "clearly different"
lacks words "would help"
hyperfine "$(result x 0.1)" "$(result y 0.1)" >third.json
analyze 1 first.json third.json
says err "the files have no command in common"
analyze 1 old.json old.json
says err "the same file is given twice"
analyze 1 old.json new.json --factor version=a
says err "give 2 different levels"
analyze 1 old.json --factor version
says err "there is only one file"
analyze 1 old.json
says err "only one command has values, so there is nothing to compare"
analyze 1 old.json new.json --block b
says err "--block, --random and --order name columns of a table"

sed 's/"times"/"memory_usage_byte":[5000000,5000001,5000002,5000003,5000004,5000005,5000006,5000007,5000008,5000009,5000010,5000011],"times"/g' \
  two.json >memory.json
analyze 0 memory.json --response memory_usage_byte --log --equivalence 1%
says words "the same within 1 %"
says words "MiB"

# Means are no runs; what is broken is said with its place.
analyze 1 two.json --response user
says err "hyperfine's files have no user for individual runs"
sed 's/"times":\[[^]]*\],//' two.json >means.json
analyze 1 means.json
says err "result 1: 'times' does not have a value for each run (a mean is not enough)"
sed 's/"exit_codes":\[0,/"exit_codes":[/' two.json >short.json
analyze 1 short.json
says err "there are 12 values of 'times', but 11 exit codes"
sed 's/,"exit_codes":\[[^]]*\]//' two.json >unchecked.json
analyze 0 unchecked.json
says words "For 1 of the commands, the file has no exit codes, so failed runs cannot be recognized."
sed 's/"times":\[[^,]*/"times":[-1/' two.json >negative.json
analyze 1 negative.json
says err "value 1 of 'times' is negative or not a number"
sed 's/"times":\[[^,]*/"times":[1e999/' two.json >huge.json
analyze 1 huge.json
hyperfine "$(result a 0.1)" "$(result a 0.2)" >twice.json
analyze 1 twice.json
says err "result 2: the command 'a' is also the command of another result"
head -c 300 two.json >cut.json
analyze 1 cut.json
says err "the JSON is invalid at byte 301"
printf '{"other":[]}' >other.json
analyze 1 other.json
says err "the file is JSON, but not from hyperfine"
printf '{"results":[]}' >empty.json
analyze 1 empty.json
says err "no command was measured"
{ printf '{"results":"'; head -c $((64 << 20)) /dev/zero | tr '\0' a; printf '"}'; } >large.json
analyze 1 large.json
says err "it is larger than 64 MiB"
{ printf '{"results":'; head -c 1000000 /dev/zero | tr '\0' '['; } >deep.json
analyze 1 deep.json
says err "the JSON is invalid at byte"
analyze 1 two.json --input-format csv --response y
says err "this cell contains a quote but is not quoted"

# Repetitions are samples, what was computed of them is none; times are in the unit that the file says.
google() { # google HOST NANOSECONDS-OF-BM_a UNIT FACTOR
  awk -v host="$1" -v mean="$2" -v unit="$3" -v factor="$4" 'BEGIN {
    printf "{\"context\":{\"host_name\":\"%s\",\"num_cpus\":2},\"benchmarks\":[", host
    for (b = 1; b <= 2; ++b) {
      for (i = 0; i < 10; ++i)
        printf "{\"name\":\"BM_%s\",\"run_name\":\"BM_%s\",\"run_type\":\"iteration\",\"repetition_index\":%d,\"real_time\":%.9f,\"cpu_time\":%.9f,\"time_unit\":\"%s\",\"items_per_second\":%.6f},",
          b == 1 ? "a" : "b", b == 1 ? "a" : "b", i, b * mean / factor * (1 + (i * 3 % 10) / 1000), b * mean / factor, unit,
          1e9 / mean * (1 + (i * 3 % 10) / 1000)
      printf "{\"name\":\"BM_mean\",\"run_name\":\"BM_%s\",\"run_type\":\"aggregate\",\"aggregate_name\":\"mean\",\"real_time\":1e9,\"cpu_time\":1e9,\"time_unit\":\"s\"},", b == 1 ? "a" : "b"
    }
    printf "{\"name\":\"BM_c\",\"run_name\":\"BM_c\",\"run_type\":\"iteration\",\"error_occurred\":%s,\"error_message\":\"no file\",\"real_time\":%s,\"cpu_time\":0,\"time_unit\":\"ns\"}]}\n",
      host == "broken" ? "true" : "false", host == "broken" ? 0 : 5 }'
}
google lab 1000 us 1e3 >base.json
google lab 1100 ms 1e6 >head.json
analyze 0 base.json head.json
says words "no verdict: each level has only one file"
says words "BM_a file: base -> head +10.00 %"
says words "base: Left out: 2 rows that Google Benchmark computed from other rows."
says words "The repetitions in a file come from one process, so they share one layout"
says out "1.0045 us"
says out "1.1050 us"
lacks out "different machines"
google lab 1100 s 1e9 >head.json
analyze 0 base.json head.json
says words "BM_a file: base -> head +10.00 %"
google lab 1100 h 1 >hours.json
analyze 1 base.json hours.json
says err "hours.json: its time_unit 'h' is unknown"
sed '0,/"real_time":[0-9.]*/s//"real_time":-1/' base.json >below.json
analyze 1 base.json below.json
says err "below.json: the real_time of BM_a is below 0, which is impossible for a time"
analyze 1 base.json head.json --factor benchmark
says err "the factor that tells the files apart is named benchmark, but a column already has this name"
google broken 1100 ns 1 >head.json
analyze 5 base.json head.json
says words "'BM_c' of head is left out: no file"
says words "The following benchmarks are left out, because a file lacks them or has no values for them: 'BM_c'."
says words "The files come from different machines: lab and broken."
analyze 0 base.json
says words "benchmark=BM_b takes 100.00 % more real_time than benchmark=BM_a"
analyze 0 base.json --response items_per_second --higher-is-better --factors benchmark
says words "more is better"
analyze 1 base.json --response nothing
says err "no benchmark has a value named 'nothing'"
analyze 1 base.json two.json
says err "base.json and two.json come from different tools"
sed 's/"iteration"/"aggregate"/g' base.json >aggregates.json
analyze 1 aggregates.json
says err "the list contains only aggregates"
# What the program prints for numbers that are none is no JSON, and no sample.
sed '0,/"cpu_time":[0-9.]*/s//"cpu_time":NaN/' base.json >nan.json
analyze 0 nan.json --response cpu_time --factors benchmark
says words "Left out: 1 rows without cpu_time."

# Tables, too, each a level; the columns' levels are those of all of them.
printf 'opt,y\na,100\na,101\na,102\nb,103\nb,104\nb,105\n' >one.csv
printf 'opt,y\nb,113\nb,114\nb,115\na,110\na,111\na,112\n' >two.csv
analyze 0 one.csv two.csv --response y --factors opt
says out "one.csv, two.csv, 12 trials"
says words "opt=b has"
says words "no verdict on file=two against file=one: the change is"
says words "file: one -> two"
lacks out "no verdict: "
analyze 0 one.csv two.csv --response y
says words "no verdict: each level has only one file"
analyze 1 one.csv two.csv --response y --factors opt --factor opt
says err "the factor that tells the files apart is named opt, but a column already has this name"
analyze 1 one.csv two.csv
says err "--metric: name the column of measured values"
analyze 1 one.csv two.json --response y
says err "come from different tools"
analyze 1 - - --response y
says err "stdin can be read only once"
echo "all as promised"
