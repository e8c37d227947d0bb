#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# plain_english_test.sh SOURCE [BUILD | --list [AREA] | --draw SEED]: counts the sentences that open with a word such as
# "Of" or "Those" where a noun should stand, in documents, comments of plans, help texts and messages. Fails when an area
# has more of them than tests/lint/plain_english.txt allows; --list prints each of them, or those of one area. --draw prints 25
# random sentences of documents, each with its heading and the sentence before it, and 25 random messages and help texts,
# for somebody to read who does not know the code.
set -euo pipefail
cd "$1"
list='' area=''
[[ ${2:-} != --list ]] || list=yes area=${3:-}

openings() {  # reads file names, prints area, file and sentence
  perl -ne '
    BEGIN {
      open my $data, "<", "tests/lint/plain_english.txt" or die "tests/lint/plain_english.txt: $!";
      while (<$data>) { $allowed{$1} = 1 if /^allow (.+)$/ }
    }
    my $heading = "";
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
      $heading = "";
      for (split(/\n/, $text), "") {
        if (/^\|/) {
          for my $cell (split /(?<!\\)\|/) {
            $cell =~ s/^\s+//;
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
    # Adjacent literals are one text. A short one is a part of a sentence that code puts together.
    sub literals {
      my ($area, $file, $text) = @_;
      $text =~ s{^\s*//.*$}{}gm;
      $text =~ s/"\s*\n\s*"//g;
      while ($text =~ /(?<!\x27)"((?:[^"\\\n]|\\.)*)"/g) {
        my $literal = $1;
        next if length($literal) < 15 || $literal =~ /\b(SELECT|PRAGMA|WHERE|ALTER TABLE|CREATE TABLE|CREATE INDEX)\b/;  # SQL is not read aloud
        if ($ENV{EACH_SENTENCE}) {  # a message or the help of an option is a whole, and may begin with a small letter
          print "$area\t$file\t$literal\n" if split(/ /, $literal) > 5 && $literal =~ /^[\w{\x27-]/ && $literal !~ /[<>=]"|\\n.*\\n/;
          next;
        }
        if ($literal =~ /^(of|those|that of|what|who|whoever) .* / && $literal !~ /\?/) {
          print "$area\t$file\t$literal\n" unless grep { index($literal, $_) == 0 } keys %allowed;
        } else {
          sentences($area, $file, $literal);
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
    } else {
      my ($top, $next) = split m{/}, $file;
      literals("messages " . ($top eq "stabd" ? "stabd/$next" : $top), $file, $text);
      comments("comments $top", $file, $text) unless $ENV{EACH_SENTENCE};
    }'
}

files=$(git ls-files README.md CHANGELOG.md 'doc/*.md' 'plans/*.toml' '*.cc' '*.h' '*.inc' |
  grep -vE '_(test|fuzz)\.cc$|testing\.h$|test_support\.h$|^(tests|bench)/|/(corpus|testdata|oracle|programs)/')
draw() {  # draw SEED
  EACH_SENTENCE=yes openings <<<"$files" | sort -u | grep -v '^doc/protocol.md' |
    awk -F '\t' -v seed="$1" 'BEGIN { srand(seed) } { printf "%d\t%.9f\t[%s] %s\n", $1 ~ /^messages/, rand(), $2, $3 }' |
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
# The script finds the sentences that it is about: these three, and not the fourth.
tried=$(mktemp --suffix=.md)
trap 'rm -f "$tried"' EXIT
printf 'Of names a byte is two. It ends. Those of one\nbenchmark differ.\n\n| cell | of this benchmark |\n\nWhere it is, it stays.\n' >"$tried"
[[ $(openings <<<"$tried" | wc -l) -eq 3 ]] || { echo "it no longer finds what it is about:"; openings <<<"$tried"; exit 1; }

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
