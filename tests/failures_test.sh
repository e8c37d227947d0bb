#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# failures_test.sh SOURCE BUILD: a sample of the failures that tests/campaign/failures lets happen, one at a time.
set -u
fail() { echo "FAILED: $*"; exit 1; }
. "$1/tests/skips.sh"
reason=$(strace -D -o /dev/null true 2>&1) || skip_all "strace cannot run programs here: $reason"
BUILD=$2 exec "$1/tests/campaign/failures" --quick
