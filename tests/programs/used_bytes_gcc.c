// SPDX-License-Identifier: MIT
// used_bytes.c without szc's pass: the post-link step finds the functions by what gcc's code does with their addresses.
// variants: -O0 | -O1 | -O2 | -O3 | -Os | -O2 -fno-pie -no-pie | -O0 -fno-pie -no-pie
// compilers: gcc
#include "used_bytes.c"
