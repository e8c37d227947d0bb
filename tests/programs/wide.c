// SPDX-License-Identifier: MIT
// AVX-512 where the machine has it, with constants and masks.
// variants: -O2 | -O3
#include <stdio.h>

__attribute__((noinline, target("avx512f,avx512vl,avx512bw,avx512dq"))) static long with_avx512(const long *a, int n) {
  long s = 0;
  for (int i = 0; i < n; ++i) s += (a[i] & 1) ? a[i] * 3 : -a[i] ^ 0x1234567;
  return s;
}
__attribute__((noinline)) static long without(const long *a, int n) {
  long s = 0;
  for (int i = 0; i < n; ++i) s += (a[i] & 1) ? a[i] * 3 : -a[i] ^ 0x1234567;
  return s;
}
int main(void) {
  long a[512];
  for (int i = 0; i < 512; ++i) a[i] = i * 2654435761L;
  int wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  printf("%ld\n", wide ? with_avx512(a, 512) : without(a, 512));
  return 0;
}
