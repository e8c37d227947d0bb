# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# Each script of tests reads this first, as `. "$1/tests/lib.sh"`; its arguments are the sources and the build. A script
# has the folder $work, which is removed at the end, and `at_end`, if it defines that, is called before.
source_directory=$1 build_directory=${2-}
szc=${SZC:-$build_directory/bin/szc}
stabctl=$build_directory/bin/stabctl
clang=${STAB_CLANG:-clang-22}
no_skips=${STAB_NO_SKIPS-}
failures=0
work=$(mktemp -d)

# No script succeeds after a failure, whatever its last command was.
end_of_script() {
  local code=$?
  trap - EXIT
  if [ "$(type -t at_end)" = function ]; then at_end || true; fi
  cd / && rm -rf --one-file-system "$work"
  [ "$failures" -eq 0 ] || code=1
  exit "$code"
}
trap end_of_script EXIT

# fail WHAT...: counts a failure; under `set -e` the script ends.
fail() {
  echo "FAILED: $*" >&2
  failures=$((failures + 1))
  [[ $- != *e* ]] || exit 1
}

# finish: the end of a script that counts its failures.
finish() {
  [ "$failures" -eq 0 ] || { echo "$failures failures" >&2; exit 1; }
  exit 0
}

# skipped WHY...: a part is not tested. ./dev test repeats such lines at its end. With STAB_NO_SKIPS=1 it is a failure.
skipped() {
  echo "skipped: $*"
  [ -z "$no_skips" ] || fail "it may not be skipped (STAB_NO_SKIPS)"
}

# skip_all WHY...: nothing more is tested.
skip_all() {
  skipped "$@"
  [ -z "$no_skips" ] || exit 1
  exit 77
}

# not_to_be_had WHY...: a part needs something that no package of Debian has.
not_to_be_had() { echo "skipped: $*"; }
