# SPDX-License-Identifier: MIT
# What some functions of a program reach: calls, jumps and addresses taken, also by way of data and of the
# global offset table, which hold addresses.
#   { nm -nS PROGRAM; readelf -rW PROGRAM; objdump -d --no-show-raw-insn PROGRAM; } | awk -v roots="NAME..." -v cuts=REGEX -f reached.awk
# Prints a line for each, from it back to a root: `dlsym@plt < find_function < _exit`. What matches cuts is not followed.
# With edges=1 it prints pairs of who refers to whom instead, for tsort; with one in between where a function calls itself.
# Not seen: what a pointer leads to that is set while the program runs.
function number(hex,    i, n) {
  for (i = 1; i <= length(hex); ++i) n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
  return n
}
# The start of the symbol that the address lies in, or the address itself: a slot of the global offset table.
function owner(address,    low, high, middle) {
  high = symbols
  while (high - low > 1) {
    middle = int((low + high) / 2)
    if (starts[middle] <= address) low = middle; else high = middle
  }
  low = starts[low]
  return size[low] != 0 && address >= low + size[low] ? address : low
}
# What a relocation names: a place of the program, or a function of a library, which may have no version.
function named(symbol) { return symbol in at ? at[symbol] : symbol ~ /@/ ? symbol : symbol "@" }
function refer(from, to) { if (from != to) targets[from] = targets[from] " " to }
function text_of(node) { return node in name ? name[node] : node }
function reach(node, parent,    text) {
  if (node in path) return
  text = text_of(node)
  path[node] = text (parent == "" ? "" : " < " path[parent])
  if (cuts == "" || text !~ cuts) queue[++last] = node
}

NF >= 3 && NF <= 4 && $(NF - 1) ~ /^[A-Za-z]$/ && $1 ~ /^[0-9a-f]+$/ {  # ADDRESS [SIZE] TYPE NAME
  address = number($1); at[$NF] = address
  if (!(address in name)) { name[address] = $NF; starts[symbols++ + 0] = address }
  size[address] = NF == 4 ? number($2) : $2 !~ /[tTwW]/
  next
}
$3 == "R_X86_64_RELATIVE" { refer(owner(number($1)), owner(number($4))); next }
$3 == "R_X86_64_64" || $3 == "R_X86_64_GLOB_DAT" { refer(owner(number($1)), named($5)); next }
/^[0-9a-f]+ <.*>:$/ { current = $2 ~ /@plt/ ? "" : owner(number($1)); next }
current != "" && /<[^>]*>$/ {  # an operand: ADDRESS <symbol>
  symbol = $NF; gsub(/[<>]/, "", symbol)
  target = symbol ~ /@/ ? symbol : owner(number($(NF - 1)))
  refer(current, target)
  if (edges && target == current && $2 ~ /^call/) { name[target "+"] = symbol "+"; refer(current, target "+"); refer(target "+", current) }
}
END {
  n = split(roots, root, " ")
  for (i = 1; i <= n; ++i)
    if (root[i] in at) reach(at[root[i]], ""); else print "there is no " root[i]
  for (i = 1; i <= last; ++i) {
    m = split(targets[queue[i]], found, " ")
    if (edges) print text_of(queue[i]), text_of(queue[i])
    for (j = 1; j <= m; ++j) {
      reach(found[j], queue[i])
      if (edges) print text_of(queue[i]), text_of(found[j])
    }
  }
  if (edges) exit
  for (node in path) print path[node]
}
