#!/bin/bash
# SPDX-License-Identifier: MIT
# szc_toggles_test.sh SOURCE BUILD: tests/programs with code, stack and heap on and off, every allocator, and three periods: a
# selection of pairs of a program's variant and these.
heap() { echo "heap=1:allocator=$1"; }
exec "$1/bench/correctness" --build "$2" --runs 1 --options "
  code=0:$(heap shuffled)
  code=0:stack=1:period=10ms
  code=0:stack=1:$(heap power2):period=10ms
  code=1:$(heap bitmap):period=10ms
  code=1:stack=1:period=10ms
  code=1:stack=1:$(heap tlsf):period=500ms
  code=1:stack=1:$(heap system):period=10ms
  code=1:stack=1:$(heap stretched):period=1ms
  code=1:stack=1:$(heap shuffled):period=1ms"
