# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# For the tests of szc: sourced by each, with the source and the build directory as arguments.
set -u
. "$1/tests/lib.sh"
szcxx=$build_directory/bin/szc++
unset CCACHE_EXTRAFILES STABILIZER_OPTIONS CFLAGS CXXFLAGS LDFLAGS CC CXX
for variable in $(env | sed -n 's/^\(STAB_[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
cd "$work" || exit 1

# expect NAME COMMAND...: the command succeeds.
expect() {
  local name=$1
  shift
  "$@" >"$work/.out" 2>"$work/.err" || { fail "$name"; cat "$work/.out" "$work/.err" >&2; }
}

# refute NAME COMMAND...: it fails.
refute() {
  local name=$1
  shift
  if "$@" >"$work/.out" 2>"$work/.err"; then fail "$name"; fi
}

# equal NAME A B
equal() { [ "$2" = "$3" ] || fail "$1: '$2' is not '$3'"; }

# has NAME FILE TEXT: the file holds the text; lacks: it does not.
has() { grep -qF -e "$3" "$2" || { fail "$1: no '$3' in:"; cat "$2" >&2; }; }
lacks() { ! grep -qF -e "$3" "$2" || { fail "$1: '$3' in:"; cat "$2" >&2; }; }

# moves NAME BINARY: the post-link step has seen it. stays: it has not.
moves() { "$szc" --stab-explain "$2" >/dev/null 2>"$work/.err" || { fail "$1: $2 is not randomized"; cat "$work/.err" >&2; }; }
stays() { ! "$szc" --stab-explain "$2" >/dev/null 2>&1 || fail "$1: $2 is randomized"; }

# have PROGRAM: it is installed.
have() { command -v "$1" >/dev/null || { skipped "$1 is not installed"; return 1; }; }
