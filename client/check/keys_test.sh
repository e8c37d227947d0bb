#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The tables of keys and of quantities in doc/plans.md are what `stabctl keys` prints, and its JSON has the same names.
set -euo pipefail
stabctl=$2/bin/stabctl
document=$1/doc/plans.md

"$stabctl" keys | diff <(awk '/^\| key \| value \|/ { on = 1 } on && /^$/ { exit } on' "$document") - ||
  { echo "FAILED: paste the output of 'stabctl keys' into $document"; exit 1; }

"$stabctl" keys --quantities | diff <(awk '/^\| quantity \| unit \|/ { on = 1 } on && /^$/ { exit } on' "$document") - ||
  { echo "FAILED: paste the output of 'stabctl keys --quantities' into $document"; exit 1; }
names=$("$stabctl" keys --quantities --json | sed -nE 's/^ +"quantity": "([^"]+)",?$/\1/p')
[[ $(wc -l <<<"$names") -gt 10 && $names == "$("$stabctl" keys --quantities | sed -nE 's/^\| `([^`]+)` .*/\1/p')" ]] ||
  { echo "FAILED: JSON has other quantities: $names"; exit 1; }

json=$("$stabctl" keys --json | sed -nE 's/^ +"key": "([^"]+)",?$/\1/p')
text=$("$stabctl" keys | sed -nE 's/^\| `([^`]+)` .*/\1/p')
[[ $(wc -l <<<"$text") -gt 50 && $text == "$json" ]] || { echo "FAILED: JSON has other keys: $json"; exit 1; }
