# SPDX-License-Identifier: MIT
# Words, fields, regular expressions and sorting over a C source.
{
  lines[NR % 5000] = $0
  for (i = 1; i <= NF; ++i) ++seen[$i]
  if (/^[a-z].*\(/) ++definitions
  if ($0 ~ /[0-9]+/) numbers += gsub(/[0-9]+/, "#")
  length_of_all += length(toupper($0))
}
END {
  for (word in seen) if (seen[word] > 500) kept[word] = seen[word]
  count = asorti(kept, order)
  for (i = 1; i <= count; ++i) printf "%s %d\n", order[i], kept[order[i]]
  print NR, definitions, numbers, length_of_all, length(lines), length(seen)
}
