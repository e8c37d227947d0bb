// SPDX-License-Identifier: MIT
// A part of the program runs with another FS base, zero even, as emulators and threads in user space do.
// variants: -O0 | -O2
#include "hazard.h"
#include <sys/auxv.h>

NOINLINE __attribute__((no_stack_protector)) static uint32_t turn(uint32_t x) {
  __asm__ volatile("");
  return x * 1103515245u + 12345u;
}
NOINLINE __attribute__((no_stack_protector)) static uint32_t part(uint32_t x, uint64_t base) {
  uint64_t own;
  __asm__ volatile("rdfsbase %0" : "=r"(own));
  __asm__ volatile("wrfsbase %0" ::"r"(base) : "memory");
  for (int i = 0; i < 300000; ++i) x = turn(x);
  __asm__ volatile("wrfsbase %0" ::"r"(own) : "memory");
  return x;
}

int main(void) {
  // HWCAP2_FSGSBASE: from Linux 5.9 on, where the processor has it.
  if ((getauxval(AT_HWCAP2) & 2) != 0) {
    int parts = 0;
    for (double end = section(1); before(end) || parts < 2; ++parts) {
      uint32_t expected = 1;
      for (int i = 0; i < 300000; ++i) expected = expected * 1103515245u + 12345u;
      CHECK(part(1, parts & 1 ? 0 : 0x1234000) == expected);
    }
  }
  puts("computed");
  return 0;
}
