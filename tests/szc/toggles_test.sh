#!/bin/bash
# SPDX-License-Identifier: MIT
# toggles_test.sh SOURCE BUILD: the other programs, with all of toggles.sh.
. "$1/tests/szc/toggles.sh"
run_toggles "$1" "$2" 1 $(ls "$1"/tests/programs/*.c* | grep -v /epoch_)
