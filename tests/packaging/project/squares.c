/* SPDX-License-Identifier: MIT */
int square(int x);
int square(int x) { return x * x; }
