#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every test file of the tree is known to ctest: a test that is not run is no test.
set -euo pipefail
source_dir=$1 build_dir=$2
known=$(ctest --test-dir "$build_dir" -N | sed -nE 's/^ *Test +#[0-9]+: //p')
bad=0 count=0
while read -r file; do
  count=$((count + 1))
  grep -qxF "${file%.*}" <<<"$known" || { echo "$file is not known to ctest"; bad=1; }
done < <(cd "$source_dir" && git ls-files -co --exclude-standard | grep -E '_test\.[^/]*$')
[[ $count -gt 10 ]] || { echo "only $count test files were found"; bad=1; }
exit $bad
