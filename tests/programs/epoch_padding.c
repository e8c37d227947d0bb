// SPDX-License-Identifier: MIT
// Bytes that are set over what earlier calls left on the stack: the rest of such a word may be that of a jump table's address,
// and the bytes keep their value.
// variants: -O0 | -O2 | -O3
// compilers: szc gcc
#include "hazard.h"

// Two large tables, of which the second one's address lies in a register beyond the call of `push`.
#define CASE(n) case n: x += 3 * (n) + 1; __asm__ volatile("# " #n : "+r"(x)); break;
#define CASES4(n) CASE(n) CASE(n + 1) CASE(n + 2) CASE(n + 3)
#define CASES16(n) CASES4(n) CASES4(n + 4) CASES4(n + 8) CASES4(n + 12)
#define CASES64(n) CASES16(n) CASES16(n + 16) CASES16(n + 32) CASES16(n + 48)
#define OTHER(n) case n: x ^= 7 * (n) + 5; __asm__ volatile("# other " #n : "+r"(x)); break;
#define OTHERS4(n) OTHER(n) OTHER(n + 1) OTHER(n + 2) OTHER(n + 3)
#define OTHERS16(n) OTHERS4(n) OTHERS4(n + 4) OTHERS4(n + 8) OTHERS4(n + 12)
#define OTHERS64(n) OTHERS16(n) OTHERS16(n + 16) OTHERS16(n + 32) OTHERS16(n + 48)

// The caller's registers are left on the stack.
NOINLINE static uint32_t push(uint32_t x) {
  __asm__ volatile("" : "+r"(x)::"rbx", "r12", "r13", "r14", "r15");
  return x;
}
NOINLINE static uint32_t turns(uint32_t x, int count) {
  for (int i = 0; i < count; ++i) {
    switch (push(x) % 128) { CASES64(0) CASES64(64) }
    switch (push(x) % 128) { OTHERS64(0) OTHERS64(64) }
  }
  return x;
}

NOINLINE static uint32_t turns_below(uint32_t x) {
  char room[400];
  __asm__ volatile("" ::"r"(room) : "memory");
  x = turns(x, 100);
  __asm__ volatile("" ::"r"(room) : "memory");
  return x;
}

typedef struct Cell {
  _Alignas(8) volatile uint8_t flag;
} Cell;
NOINLINE static void keep_flags(void) {
  Cell cells[128];
  for (int i = 0; i < 128; ++i) cells[i].flag = 0;
  work_ms(5);
  for (int i = 0; i < 128; ++i) CHECK(cells[i].flag == 0);
}

int main(void) {
  const uint32_t first = turns_below(1);
  for (double end = section(1); before(end);) {
    CHECK(turns_below(1) == first);
    keep_flags();
  }
  puts("every flag was as it had been set");
  return 0;
}
