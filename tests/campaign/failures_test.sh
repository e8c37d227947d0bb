#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# failures_test.sh SOURCE BUILD: a sample of the failures that tests/campaign/failures lets happen, one at a time.
set -u
. "$1/tests/lib.sh"
reason=$(strace -D -o /dev/null true 2>&1) || skip_all "strace cannot run programs here: $reason"
BUILD=$build_directory "$1/tests/campaign/failures" --quick || fail "see above"
# A daemon that cannot send to its worker does not wait for the answer.
BUILD=$build_directory "$1/tests/campaign/failures" --only daemon:sendto "$work/sent" || fail "see above"
finish
