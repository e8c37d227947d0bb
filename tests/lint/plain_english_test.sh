#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain_english_test.sh SOURCE [BUILD | --list [AREA] | --draw SEED]: counts the sentences that open with a word such as
# "Of" or "Those" where a noun should stand, in documents, READMEs of folders, comments of plans, messages, and the help of
# programs and scripts. Fails when an area has more of them than tests/lint/plain_english.txt allows; --list prints each of
# them, or those of one area. --draw prints 25 random sentences of documents, each with its heading and the sentence before
# it, and 25 random messages and help texts, for somebody to read who does not know the code.
set -euo pipefail
. "$1/tests/lib.sh"
cd "$1"
list='' area=''
[[ ${2:-} != --list ]] || list=yes area=${3:-}

openings() {  # reads file names, prints area, file and sentence
  perl -ne '
    BEGIN {
      open my $data, "<", "tests/lint/plain_english.txt" or die "tests/lint/plain_english.txt: $!";
      while (<$data>) { $allowed{$1} = 1 if /^allow (.+)$/ }
    }
    our $heading = "";  # not my: the subs would keep the variable of the first file
    # A sentence opens badly if a word that has no noun beside it is its subject or its topic.
    sub bad {
      my ($sentence) = @_;
      return 0 if grep { index($sentence, $_) == 0 } keys %allowed;
      return 1 if $sentence =~ /^(Of(?! (?:course\b|the \d|\d|[km] ))|Those|That of|Whoever|Whatever (?!.*,))\b/;
      return 1 if $sentence =~ /^(What|Who|Whose)\b(?!.*\?$)/;
      return 1 if $sentence =~ /^(As|By|Where)\b(?!.*(,|\?$))/;
      return 0;
    }
    sub sentences {
      my ($area, $file, $text) = @_;
      $text =~ s/`[^`]*`/`X`/g unless $ENV{EACH_SENTENCE};
      $text =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
      $text =~ s{^\s*\*\*[^*]*[.:]\*\*}{};  # the title of a paragraph
      $text =~ s/\*\*//g;
      $text =~ s/\s+/ /g;
      $text =~ s/^ | $//g;
      my $before = "";
      for (split /(?<=[.?!:;])\)? (?=["(]?[A-Z])/, $text) {
        s/^["(]+//;
        if ($ENV{EACH_SENTENCE}) {
          my $place = join ", ", $file, grep { $_ ne "" } $heading, $before && "after: $before";
          print "$area\t$place\t$_\n" if /^[A-Z"(`]/ && /[.?!:]\)?$/ && split(/ /) > 5;
          $before = $_;
          next;
        }
        print "$area\t$file\t$_\n" if bad($_);
        while (/; ((?:of|those of|those that|that of|who|whoever|what) [^;]*)/g) { print "$area\t$file\t...; $1\n" }
      }
    }
    sub document {
      my ($area, $file, $text) = @_;
      $text =~ s/<!--.*?-->//gs;
      $text =~ s/^```.*?^```$//gms;
      my $paragraph = "";
      for (split(/\n/, $text), "") {
        if (/^\|/) {
          for my $cell (split /(?<!\\)\|/) {
            $cell =~ s/^\s+|\s+$//g;
            if ($cell =~ /^(of(?! (?:the )?\d)|those of|those that|that of) /) { print "$area\t$file\t$cell\n" }
            else { sentences($area, $file, $cell) }
          }
        } elsif (/^(#|    |\s*$)/ || /^\s*([-*]|\d+\.) /) {
          sentences($area, $file, $paragraph);
          $paragraph = /^\s*(?:[-*]|\d+\.) (.*)/ ? $1 : "";
          $heading = $1 if /^#+ (.*)/;
        } else {
          $paragraph .= " $_";
        }
      }
      sentences($area, $file, $paragraph);
    }
    # A message or the help of an option is a whole, and may begin with a small letter or in the middle of a sentence.
    sub fragment {
      my ($area, $file, $text) = @_;
      if ($ENV{EACH_SENTENCE}) {
        print "$area\t$file\t$text\n" if split(/ /, $text) > 5 && $text =~ /^[\w{\x27-]/ && $text !~ /[<>=]"|\\n.*\\n/;
      } elsif ($text =~ /^(of|those|that of|what|who|whoever) .* / && $text !~ /\?/) {
        print "$area\t$file\t$text\n" unless grep { index($text, $_) == 0 } keys %allowed;
      } else {
        sentences($area, $file, $text);
      }
    }
    # Adjacent literals are one text. A short one is a part of a sentence that code puts together.
    sub literals {
      my ($area, $file, $text) = @_;
      $text =~ s{^\s*//.*$}{}gm;
      $text =~ s/"\s*\n\s*"//g;
      while ($text =~ /(?<!\x27)"((?:[^"\\\n]|\\.)*)"/g) {
        my $literal = $1;
        next if length($literal) < 15 || $literal =~ /\b(SELECT|PRAGMA|WHERE|ALTER TABLE|CREATE TABLE|CREATE INDEX)\b/;  # SQL is not read aloud
        fragment($area, $file, $literal);
      }
    }
    # The help of a script is its first comment, and its usage() if it has one. An indented line begins an item, such as an
    # option. Two spaces separate the columns of an item, and deeply indented lines continue its last column.
    sub help {
      my ($area, $file, $text) = @_;
      my ($comment) = $text =~ m{\A(?|#!.*\n((?:#.*\n)*)|((?://.*\n)*))};
      $comment =~ s{^(?:#|//) ?}{}gm;
      my $usage = $text =~ /^(?:usage\(\) \{\n *cat|my \$usage =) <<\x27(\w+)\x27;?\n(.*?)^\1$/ms ? $2 : "";
      for my $part ($comment, $usage) {
        my ($item, $paragraph) = (0, "");
        for (split(/\n/, $part), "") {
          next if /^(SPDX-|shellcheck )/;
          if (/^ {5} *(\S.*)/ || !$item && /^((?!usage:)\S.*)/) { $paragraph .= " $1"; next }
          my $term = "";
          for my $whole ($item ? split(/(?<=\S) {2,}(?=\S)/, $paragraph) : $paragraph) {
            $whole =~ s/\s+/ /g;
            $whole =~ s/^ | $//g;
            if (!$item) { sentences($area, $file, $whole) }
            elsif ($whole !~ m{^(usage:|\S+/)}) { fragment($area, $term ? "$file, $term" : $file, $whole) }  # a command is no text
            $term = $whole;
          }
          ($item, $paragraph) = (/^ |^usage:/ ? 1 : 0, $_);
        }
      }
    }
    # Lines of comments that follow each other are one text.
    sub comments {
      my ($area, $file, $text) = @_;
      my $paragraph = "";
      for (split(/\n/, $text), "") {
        if (m{^\s*//+ ?(.*)} && !/SPDX-/) { $paragraph .= " $1"; next }
        sentences($area, $file, $paragraph) if $paragraph ne "";
        $paragraph = "";
      }
    }
    chomp(my $file = $_);
    open my $handle, "<", $file or die "$file: $!";
    my $text = do { local $/; <$handle> };
    if ($file =~ /\.md$/) {
      document($file =~ m{^doc/decisions/} ? "doc/decisions" : $file, $file, $text);
    } elsif ($file =~ /\.toml$/) {
      my $comments = join " ", map { !/SPDX-/ && /(?:^|\s)#\s?(.*)/ ? $1 : () } split /\n/, $text;
      sentences("plans", $file, $comments);
    } elsif ($text =~ /^#!/ || $file =~ m{^(bench|tests)/}) {
      help("help " . ($file =~ m{^([^/]+)/} ? $1 : $file), $file, $text);
    } else {
      my ($top, $next) = split m{/}, $file;
      literals("messages " . ($top eq "stabd" ? "stabd/$next" : $top), $file, $text);
      comments("comments $top", $file, $text) unless $ENV{EACH_SENTENCE};
    }'
}

files=$(git ls-files '*README.md' CHANGELOG.md 'doc/*.md' 'plans/*.toml' '*.cc' '*.h' '*.inc' |
  grep -vE '_(test|fuzz)\.cc$|testing\.h$|test_support\.h$|^(tests|bench)/|/(corpus|testdata|oracle|programs)/'
  # Scripts, and the programs that users of bench/ and tests/campaign/ start.
  git grep -nI '^#!' -- ':!*_test.sh' | sed -n 's/:1:.*//p'
  git ls-files 'bench/*.cc' 'tests/campaign/*.cc' | grep -v '_test\.cc$')
draw() {  # draw SEED
  EACH_SENTENCE=yes openings <<<"$files" | sort -u | grep -v '^doc/protocol.md' |
    awk -F '\t' -v seed="$1" 'BEGIN { srand(seed) } { printf "%d\t%.9f\t[%s] %s\n", $1 ~ /^(messages|help) /, rand(), $2, $3 }' |
    sort | awk -F '\t' '++drawn[$1] <= 25' | cut -f 3-
}
if [[ ${2:-} == --draw ]]; then
  draw "${3:?--draw needs a seed}"
  exit 0
fi
found=$(openings <<<"$files")
if [[ -n $list ]]; then
  awk -F '\t' -v area="$area" 'area == "" || $1 == area { print $2 ": " $3 }' <<<"$found"
  exit 0
fi

counts=$(awk -F "\t" 'NF { count[$1]++ } END { for (area in count) print area "\t" count[area] }' <<<"$found" | sort)
[[ $(wc -l <<<"$files") -gt 300 ]] || { echo "only $(wc -l <<<"$files") files were looked at"; exit 1; }
for each in README.md base/README.md doc/README.md dev bench/ab bench/evaluation/show bench/isolation_cost.cc \
  tests/campaign/run tests/campaign/fifty_users.cc doc/pictures/make; do
  grep -qxF "$each" <<<"$files" || { echo "$each was not looked at"; exit 1; }
done

# finds FILE SENTENCE...: openings finds these sentences in the file, and no others.
finds() {
  local found
  found=$(openings <<<"$1" | cut -f 3)
  [[ $found == "$(printf '%s\n' "${@:2}")" ]] || { echo "it no longer finds what it is about in ${1##*/}, but:"; echo "$found"; exit 1; }
}
printf 'Of names a byte is two. It ends. Those of one\nbenchmark differ.\n\n| cell | of this benchmark |\n\nWhere it is, it stays.\n' >"$work/page.md"
finds "$work/page.md" 'Of names a byte is two.' 'Those of one benchmark differ.' 'of this benchmark'
{
  printf '#!/bin/sh\n# SPDX-License-Identifier: MIT\n# What a run costs.\n#\n#   bench/tried [N]   those of\n'
  printf '#                     a day\n# It ends. Whoever\n# waits is told.\nset -u\n# Of no interest.\nusage() {\n  cat <<%s\n' "'TXT'"
  printf 'usage: bench/tried [--runs N]\nWho asks for runs waits.\n  --runs N  of each kind     --pairs N  rounds; what it\n'
  printf '            takes is known by then\nIt says how many\n  --list    the programs of this folder, one on each line\nTXT\n}\n'
} >"$work/tried"
finds "$work/tried" 'What a run costs.' 'those of a day' 'Whoever waits is told.' 'Who asks for runs waits.' 'of each kind' \
  '...; what it takes is known by then'
said=$(EACH_SENTENCE=yes openings <<<"$work/tried" | cut -f 2- | sed "s|^$work/||")
[[ $said == $'tried, --pairs N\trounds; what it takes is known by then\ntried, --list\tthe programs of this folder, one on each line' ]] ||
  { echo "it no longer draws the help of scripts:"; echo "$said"; exit 1; }

printf '# Title\n\nThis sentence is about an old page.\n' >"$work/old.md"
printf '# This sentence is about the new plan.\n' >"$work/new.toml"
said=$(printf '%s\n' "$work"/{old.md,new.toml} | EACH_SENTENCE=yes openings | cut -f 2 | sed "s|^$work/||")
[[ $said == $'old.md, Title\nnew.toml' ]] || { echo "it draws sentences with wrong headings:"; echo "$said"; exit 1; }

drawn=$(draw 1)
[[ $(wc -l <<<"$drawn") -eq 50 && $drawn == "$(draw 1)" && $drawn != "$(draw 2)" ]] || { echo "--draw does not draw 50 sentences by its seed"; exit 1; }

bad=0
while IFS=$'\t' read -r name count; do
  most=$(awk -v name="$name" '$1 ~ /^[0-9]+$/ { count = $1; sub(/^[0-9]+ +/, ""); if ($0 == name) print count }' tests/lint/plain_english.txt)
  echo "$name: $count, at most ${most:-0}"
  [[ $count -le ${most:-0} ]] || { bad=1; awk -F '\t' -v area="$name" '$1 == area { print "  " $2 ": " $3 }' <<<"$found"; }
done < <(grep . <<<"$counts")
[[ $bad -eq 0 ]] || echo "Name the thing that a sentence is about instead of opening with Of, Those, What, Who, As, By or Where (tests/lint/plain_english.txt)."
exit $bad
