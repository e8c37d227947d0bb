#!/bin/bash
# SPDX-License-Identifier: MIT
# epochs_test.sh SOURCE BUILD: the programs that are about moving functions, with all of toggles.sh.
. "$1/tests/szc/toggles.sh"
run_toggles "$1" "$2" 3 "$1"/tests/programs/epoch_*.c*
