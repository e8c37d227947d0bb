// SPDX-License-Identifier: MIT
static __attribute__((noinline)) int step(int x) {
  __asm__ volatile("");
  return x + 1;
}
int other_use(int x) {
  int sum = 0;
  for (int i = 0; i < x; ++i) sum += step(i);
  return sum;
}
