// SPDX-License-Identifier: MIT
// AVX-512 where the machine has it, with constants and masks, and values that are kept over calls in frames aligned to 64 bytes.
// variants: -O0 | -O2 | -O3
#include <stdio.h>

#define WIDE __attribute__((noinline, target("avx512f,avx512vl,avx512bw,avx512dq")))
typedef long Eight __attribute__((vector_size(64)));

WIDE static long with_avx512(const long *a, int n) {
  long s = 0;
  for (int i = 0; i < n; ++i) s += (a[i] & 1) ? a[i] * 3 : -a[i] ^ 0x1234567;
  return s;
}
WIDE static void add(Eight *to, const Eight *what, int n) {
  for (int i = 0; i < n; ++i) to[i] += what[i];
}
// More of them than there are registers.
WIDE static long kept_over_calls(const long *a) {
  Eight sums[40], own = {0}, all = {0};
  for (int i = 0; i < 40; ++i) sums[i] = (Eight){a[i], 1, 2, 3, 4, 5, 6, a[i + 1]};
  for (int i = 0; i < 40; ++i) {
    own += sums[i] * 3;
    add(sums, sums + 20, 20);
    all ^= own + sums[i];
  }
  long s = (long)((unsigned long)&own % 64);
  for (int i = 0; i < 8; ++i) s += all[i];
  return s;
}
__attribute__((noinline)) static long without(const long *a, int n) {
  long s = 0;
  for (int i = 0; i < n; ++i) s += (a[i] & 1) ? a[i] * 3 : -a[i] ^ 0x1234567;
  return s;
}
__attribute__((noinline)) static long without_registers(const long *a) {
  long sums[40][8], own[8] = {0}, all[8] = {0}, s = 0;
  for (int i = 0; i < 40; ++i)
    for (int k = 0; k < 8; ++k) sums[i][k] = k == 0 ? a[i] : k == 7 ? a[i + 1] : k;
  for (int i = 0; i < 40; ++i) {
    for (int k = 0; k < 8; ++k) own[k] += sums[i][k] * 3;
    for (int j = 0; j < 20; ++j)
      for (int k = 0; k < 8; ++k) sums[j][k] += sums[j + 20][k];
    for (int k = 0; k < 8; ++k) all[k] ^= own[k] + sums[i][k];
  }
  for (int k = 0; k < 8; ++k) s += all[k];
  return s;
}
int main(void) {
  long a[512];
  for (int i = 0; i < 512; ++i) a[i] = i * 26544357L;
  const int wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  printf("%ld\n", wide ? with_avx512(a, 512) : without(a, 512));
  printf("%ld\n", wide ? kept_over_calls(a) : without_registers(a));
  return 0;
}
