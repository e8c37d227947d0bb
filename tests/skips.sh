# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Read by scripts that cannot test everything everywhere. Each line that begins with "skipped: " is repeated by ./dev test at
# its end. Where nothing may be skipped (STAB_NO_SKIPS=1) it is a failure.
no_skips=${STAB_NO_SKIPS-}

# skipped WHY...: a part is not tested. The script has a function `fail`.
skipped() {
  echo "skipped: $*"
  [ -z "$no_skips" ] || fail "it may not be skipped (STAB_NO_SKIPS)"
}

# skip_all WHY...: nothing more is tested.
skip_all() {
  skipped "$@"
  [ -z "$no_skips" ] && exit 77
  exit 1
}

# not_to_be_had WHY...: what no package of Debian has.
not_to_be_had() { echo "skipped: $*"; }
