# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# Read by scripts that set source_directory. `allocators` holds the names in runtime/base/allocators.h; the first one is
# the default.
read -ra allocators < <(printf '%s\n' '#include "runtime/base/allocators.h"' '#define NAME(name, ...) name' 'STAB_EACH_ALLOCATOR(NAME)' |
  "${STAB_CLANG:-clang-22}" -E -P -I"$source_directory" -x c - | xargs)
[ ${#allocators[@]} -ge 2 ] || { echo "runtime/base/allocators.h has no allocators" >&2; exit 1; }
