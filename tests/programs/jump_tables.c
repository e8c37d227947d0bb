// SPDX-License-Identifier: MIT
// Switches that become tables of distances, of addresses, of values; several in one function; with holes.
// variants: -O0 | -O1 | -O2 | -O3 | -Os | -Oz | -O0 -fno-pie -no-pie | -O2 -fno-pie -no-pie | -O2 -fcf-protection | -O2 -flto
#include <stdio.h>

static int trace;
__attribute__((noinline)) static int act(int op, int x) {
  switch (op) {
    case 0: return x + 1;
    case 1: trace += x; return x * 3;
    case 2: trace ^= 0x55; return x - 7;
    case 3: return -x;
    case 4: trace <<= 1; return x / 2;
    case 5: return x | 9;
    case 6: trace -= 3; return x & 0xff;
    case 12: return trace;
    default: return x;
  }
}
__attribute__((noinline)) static const char *name(int op) {
  switch (op) {
    case 0: return "increment";
    case 1: return "triple";
    case 2: return "less";
    case 3: return "negate";
    case 4: return "half";
    case 5: return "or";
    default: return "other";
  }
}
__attribute__((noinline)) static int nested(int a, int b) {
  switch (a & 7) {
    case 0: trace++; break;
    case 1: return b;
    case 2: trace--; break;
    case 3: b += 2; break;
    case 4: b *= 2; break;
    case 5: b = act(b & 7, a); break;
    default: break;
  }
  switch (b & 7) {
    case 0: return a;
    case 1: trace += a; return 5;
    case 2: return act(a & 7, b);
    case 3: trace = trace * 31 + b; return a - b;
    case 4: return 12;
    case 6: return act(1, a);
    default: return a * b;
  }
}

int main(void) {
  int x = 5;
  for (int i = 0; i < 5000; ++i) x = nested(x, act(i % 14, x & 0xfff)) & 0xffff;
  for (int i = 0; i < 7; ++i) printf("%s ", name(i));
  printf("%d %d\n", x, trace);
  return x & 63;
}
