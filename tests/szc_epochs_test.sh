#!/bin/bash
# SPDX-License-Identifier: MIT
# szc_epochs_test.sh SOURCE BUILD: tests/programs while functions move, a selection of pairs; bench/correctness --all is all of it.
exec "$1/bench/correctness" --build "$2" --runs 1
