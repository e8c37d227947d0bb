#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Checks what every source file must have: the license line, the project's format, and no Python in the product. The
# lists and numbers are in sources.txt.
set -euo pipefail
cd "$1"
bad=0

names="licensed not-licensed forbidden-file not-formatted cuts-help named-folder not-there readme-part readme-rows \
readme-rows-won-by-others readme-limits readme-plan-lines readme-sentences readme-lines line-length story-lines pictures \
picture-bytes begins-thread may-begin-threads daemon-members \
reads-no-sentence reads-sentence parses-json uses-old-name"
declare -A list # by the names in sources.txt, a line for each value
while read -r name value; do
  [[ -n $name && $name != '#'* ]] || continue
  [[ " $names " == *" $name "* && -n $value ]] || { echo "tests/lint/sources.txt: '$name $value' is not understood"; bad=1; }
  list[$name]+=${list[$name]+$'\n'}$value
done <tests/lint/sources.txt
for name in $names; do
  [[ -n ${list[$name]-} ]] || { echo "tests/lint/sources.txt has no line '$name'"; exit 1; }
done

files=$(git ls-files -co --exclude-standard | while read -r file; do [[ ! -f $file ]] || echo "$file"; done)
licensed=$(grep -E "${list[licensed]}" <<<"$files" | grep -vE "${list[not-licensed]}")
# Empty files have no first line, so each name is compared with those that have the line.
while read -r file; do
  echo "$file lacks its license line"
  bad=1
done < <(xargs awk 'FNR <= 3 && /SPDX-License-Identifier: MIT/ { print FILENAME }' <<<"$licensed" | sort -u |
  comm -13 - <(sort -u <<<"$licensed"))

if git ls-files -co --exclude-standard | grep -E "${list[forbidden-file]}"; then
  echo "Python is no part of this project"
  bad=1
fi

mapfile -t formatted < <(git ls-files -co --exclude-standard '*.h' '*.cc' '*.cpp' | grep -vE "${list[not-formatted]}")
clang-format-19 --dry-run --Werror "${formatted[@]}" || bad=1
if git grep -nE -e "${list[cuts-help]}"; then
  echo "these scripts may cut off their help: print it with sed -n '3,/^[^#]/s/^# \{0,1\}//p'"
  bad=1
fi
# Links of documents, and what doc/contributing.md names, are there.
while IFS=: read -r file link; do
  [[ $link == http* || -e $(dirname "$file")/${link%%#*} ]] || { echo "$file: there is no $link"; bad=1; }
done < <(git ls-files '*.md' | xargs grep -HoP '(\]\(|^\[[a-z0-9]+\]: )\K[^)# ]+(?=[)#]|$)')
# A link to a part of a document names one of its headings.
anchors() { # anchors FILE: of its headings, as GitHub makes them
  awk '/^```/ { code = !code } /^#+ / && !code { sub(/^#+ +/, ""); print tolower($0) }' "$1" |
    sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g; s/[^a-z0-9 _-]//g; s/ /-/g'
}
while IFS=: read -r file link; do
  target=${link%%#*}
  [[ -z $target ]] && target=$file || target=$(dirname "$file")/$target
  [[ $target == *.md ]] || continue
  anchors "$target" | grep -qxF -- "${link#*#}" || { echo "$file: $target has no heading for #${link#*#}"; bad=1; }
done < <(git ls-files '*.md' | xargs grep -HoP '(\]\(|^\[[a-z0-9]+\]: )(?!http)\K[^) ]*#[^) ]+(?=[)]|$)')
folders=${list[named-folder]//$'\n'/|}
while read -r path; do
  compgen -G "$path" >/dev/null || { echo "doc/contributing.md: there is no $path"; bad=1; }
done < <(grep -oP '`\K('"$folders"')/[a-z_0-9/.*-]+(?=`)' doc/contributing.md | grep -vxF "${list[not-there]}")
while read -r path; do
  [[ -f $path ]] || { echo "doc/story.md: there is no $path"; bad=1; }
done < <(grep -oP '`\K[a-z_]+(/[a-z_]+)+\.(h|cc|inc|c)(?=`)' doc/story.md)
# Each document says first for whom it is, and the map names it.
for file in doc/*.md; do
  begins=$(grep -m 1 -A 4 '^# ' "$file" | tr '\n' ' ')
  grep -qE '^# [^#]*  (For|This page is for) [^.]*\. +(After |This page says which document)' <<<"$begins" ||
    { echo "$file does not begin with 'For' or 'This page is for', its readers, and what they can do after reading it"; bad=1; }
  [[ $file == doc/README.md ]] || grep -qF "](${file#doc/})" doc/README.md || { echo "doc/README.md does not name $file"; bad=1; }
done
# Each decision has a number of its own, in its name, its heading and its one row of the list.
numbers=' '
for file in doc/decisions/0*.md; do
  name=${file##*/} number=$((10#${name:0:4}))
  [[ $numbers != *" $number "* ]] || { echo "$file: another decision has the number $number"; bad=1; }
  numbers+="$number "
  grep -q "^# $number\. " "$file" || { echo "$file: its heading has another number"; bad=1; }
  [[ $(grep -c "^| $number | \[.*\]($name) |" doc/decisions/README.md) == 1 ]] ||
    { echo "doc/decisions/README.md needs one row for $file"; bad=1; }
done
# README.md has its parts in this order; each cell of the table names its source, and some rows are won by others.
parts=$(grep -E '^(## |!\[)' README.md | sed 's/^!\[.*/picture/; s/^## //')
[[ $parts == "${list[readme-part]}" ]] ||
  { echo "README.md has other parts, or in another order: ${parts//$'\n'/|}"; bad=1; }
awk -F ' *\\| *' -v wanted_rows="${list[readme-rows]}" -v wanted_better="${list[readme-rows-won-by-others]}" \
  -v wanted_limits="${list[readme-limits]}" -v wanted_lines="${list[readme-plan-lines]}" '
  /^\[[a-z][0-9]\]: / { source[substr($1, 2, 2)] = 1 }
  /^\| / && NF == 9 && !/^\| feature/ { rows++; line[rows] = $0 }
  /^[0-9]\. / && limits { numbered++ }
  /^## / { limits = /five limits/; plan = /^## A plan/; blocks = 0; inside = 0 }
  plan { if (/^    /) { if (!inside) blocks++; inside = 1; if (blocks == 1) lines++ } else inside = 0 }
  END {
    for (i = 1; i <= rows; i++) {
      split(line[i], cells, / *\| */)
      others = 0
      for (c = 3; c <= 8; c++) {
        if (cells[c] !~ /^\[(yes|partly|no)\]\[[a-z][0-9]\]$/) { print "README.md: a cell without a source: " cells[c]; bad = 1 }
        else if (!(substr(cells[c], length(cells[c]) - 2, 2) in source)) { print "README.md: no source " cells[c]; bad = 1 }
        if (c > 3 && cells[c] ~ /^\[yes/) others = 1
      }
      if (others && cells[3] !~ /^\[yes/) better++
    }
    if (rows < wanted_rows || better < wanted_better) { print "README.md: " rows " rows, in " better + 0 " of which another tool is better"; bad = 1 }
    if (numbered != wanted_limits) { print "README.md: " numbered + 0 " limits"; bad = 1 }
    if (lines != wanted_lines) { print "README.md: the plan has " lines + 0 " lines"; bad = 1 }
    exit bad
  }' README.md || bad=1
most=${list[story-lines]}
[[ $(wc -l <doc/story.md) -le $most ]] || { echo "doc/story.md has more than $most lines"; bad=1; }
# README.md states the problem in a few sentences.
wanted=${list[readme-sentences]}
sentences=$(awk '/^\*\*/ { after = 1; next } after && NF { said = 1; print } said && !NF { exit }' README.md | tr '\n' ' ' | grep -oE '[.?!] ' | wc -l)
[[ $sentences == "$wanted" ]] || { echo "README.md states the problem in $sentences sentences instead of $wanted"; bad=1; }
most=${list[readme-lines]} longest=${list[line-length]}
[[ $(wc -l <README.md) -le $most && $(wc -L <README.md) -le $longest ]] ||
  { echo "README.md has at most $most lines of $longest characters"; bad=1; }

# The pictures: doc/pictures/make draws each of them, a document shows it, it loads nothing, and all together are small.
made=$(doc/pictures/make --list | sort)
[[ $(wc -l <<<"$made") -ge ${list[pictures]} ]] || { echo "doc/pictures/make draws $(wc -l <<<"$made") pictures"; bad=1; }
[[ $(cd doc/pictures && ls -- *.*) == "$made" ]] || { echo "doc/pictures/make --list and the files in doc/pictures differ"; bad=1; }
while read -r picture; do
  grep -qE "\]\((doc/)?pictures/$picture\)" README.md doc/*.md || { echo "no document shows doc/pictures/$picture"; bad=1; }
done <<<"$made"
grep -q '](doc/pictures/bias.svg)' README.md || { echo "README.md does not show doc/pictures/bias.svg"; bad=1; }
if grep -lE '(href|src)=|@import|url\((https?:)?/|<script' doc/pictures/*.svg; then echo "these pictures load something"; bad=1; fi
size=$(cat doc/pictures/*.* | wc -c) most=${list[picture-bytes]}
[[ $size -lt $most ]] || { echo "the pictures have $size bytes, and fewer than $most are wanted"; bad=1; }

# What the README of a folder names is there.
while IFS=: read -r file name; do
  room=$(dirname "$file")
  compgen -G "$room/$name" >/dev/null || [[ -e $name ]] || compgen -G "$room/*/$name" >/dev/null ||
    { echo "$file: there is no $name"; bad=1; }
done < <(git ls-files -co --exclude-standard '*/README.md' | xargs grep -HoP '`\K[a-z_0-9/*]+\.(h|cc|inc|sh|md)(?=`)')

# What begins threads is tried under ThreadSanitizer (.ci/run): what runs in programs. stabd and its tools have none.
threaded=$(grep -E '\.(h|cc)$' <<<"$files" | grep -vE '_(test|fuzz)\.cc$' | grep -vE "${list[may-begin-threads]}" |
  xargs grep -nE "${list[begins-thread]}" || true)
[[ -z $threaded ]] || { echo "threads outside of runtime/ and causal/preload/: $threaded"; bad=1; }

# The daemon is divided into parts, each with a test of its own (stabd/daemon/README.md). New state belongs to one of them.
members=$(sed -n '/^class Daemon final/,/^};/p' stabd/daemon/daemon.h | grep -cE '^  [^()]*(<[^;]*>)?[^()]*\b[a-z][a-z_]*_( = [^;]*|\{.*\})?;')
[[ $members -ge 20 && $members -le ${list[daemon-members]} ]] ||
  { echo "stabd/daemon/daemon.h: class Daemon has $members data members instead of 20 to ${list[daemon-members]}: let a part own the new one"; bad=1; }

# Facts are data: what decides is a column or a field and no sentence that was written for people.
looks='\.(starts_with|ends_with|contains|r?find|substr)\('
sentences=$(grep -E '\.(h|cc)$' <<<"$files" | grep -E "${list[reads-no-sentence]}" |
  grep -vE '_(test|fuzz)\.cc$|testing\.h$' |
  xargs grep -noP "$looks"'\K("[^"]*[a-z]{2,}[:;,]? .*|": ".*)|(\b(event|each)\.text|\("text"\))'"$looks.*" | sed -E 's/:[0-9]+:/: /' |
  grep -vF "${list[reads-sentence]}" || true)
[[ -z $sentences ]] || { echo "these lines look for words in a sentence; use a column or a field: $sentences"; bad=1; }

# Nobody parses JSON that the same process made. Messages have their own parser (protocol/codec.h).
parsers=$(grep -E '\.(h|cc)$' <<<"$files" | grep -vE '_(test|fuzz)\.cc$|testing\.h$|^(tests|bench)/' |
  xargs grep -lE 'json::(parse|accept)\(' | grep -vxF "${list[parses-json]}" || true)
[[ -z $parsers ]] || { echo "these files parse JSON: take the value instead of its text: $parsers"; bad=1; }

# If an option has two names, messages say the better one, which stands first (doc/decisions/0030-names-people-meet.md).
old=$(grep -ohP '"--[a-z-]+,--\K[a-z-]+(?=")' stabd/command_line/verbs.cc | sort -u | paste -sd '|')
[[ $old == *state* ]] || { echo "stabd/command_line/verbs.cc: the old names of options were not found, only: $old"; bad=1; }
named=$(grep -E '\.(h|cc)$' <<<"$files" | grep -vE '_(test|fuzz)\.cc$|testing\.h$|^(tests|bench)/' |
  xargs grep -nP "\"[^\"]*((?<!,)(?<!stabd )--($old)(?![\w-])|stabctl quiesce)" |
  grep -vE "${list[uses-old-name]}" || true)
[[ -z $named ]] || { echo "these lines use an old name, though users know a better one: $named"; bad=1; }

# Lines of documents can be read side by side; tables and commands are as long as they are.
longest=${list[line-length]}
while read -r file; do
  awk -v file="$file" -v longest="$longest" \
    'length > longest && !/^(\||    )/ { print file ":" FNR ": longer than " longest " characters"; bad = 1 } END { exit bad }' \
    "$file" || bad=1
done < <(git ls-files '*.md')
exit $bad
