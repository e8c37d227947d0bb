// SPDX-License-Identifier: MIT
// Frames on a stack that another image made.
#define NOINLINE __attribute__((noinline))
typedef long Bottom(long);
#define STEP(n, next) NOINLINE static long step##n(Bottom *bottom, long value) { volatile char mark[64] = {n}; const long below = next; return below + (mark[0] == n); }
STEP(1, bottom(value))
STEP(2, step1(bottom, value))
STEP(3, step2(bottom, value))
STEP(4, step3(bottom, value))
STEP(5, step4(bottom, value))
STEP(6, step5(bottom, value))
STEP(7, step6(bottom, value))
STEP(8, step7(bottom, value))
STEP(9, step8(bottom, value))
STEP(10, step9(bottom, value))
STEP(11, step10(bottom, value))
long far_down(int depth, Bottom *bottom, long value) { return depth == 12 ? step11(bottom, value) : -1; }
