// SPDX-License-Identifier: MIT
// Floating-point constants, vector pools, string tables and long double.
// variants: -O0 | -O2 | -O3 -mavx2 | -O3 -ffast-math | -O2 -fno-pie -no-pie
#include <math.h>
#include <stdio.h>

__attribute__((noinline)) static double poly(double x) { return ((0.5 * x + 1.25) * x - 3.75) * x + 1e-3; }
__attribute__((noinline)) static float sum(const float *a, int n) {
  float s = 0;
  for (int i = 0; i < n; ++i) s += a[i] * 1.5f + (float)(i & 3);
  return s;
}
__attribute__((noinline)) static void mix(unsigned *a) {
  for (int i = 0; i < 64; ++i) a[i] = (a[i] ^ (unsigned)(i * 2654435761u)) + 17u;
}
__attribute__((noinline)) static long double lengthen(long double x) { return x * 1.1L + 2.5e-10L; }
__attribute__((noinline)) static double negate(double x) { return -fabs(x); }

int main(void) {
  if (!__builtin_cpu_supports("avx2")) return 0;
  float a[64];
  unsigned b[64];
  for (int i = 0; i < 64; ++i) a[i] = (float)i, b[i] = (unsigned)i * 77u;
  mix(b);
  unsigned h = 0;
  for (int i = 0; i < 64; ++i) h = h * 31 + b[i];
  printf("%.4f %.1f %u %.9Lf %.2f\n", poly(2.5), sum(a, 64), h, lengthen(3.0L), negate(4.5));
  return 0;
}
