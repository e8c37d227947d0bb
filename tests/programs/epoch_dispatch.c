// SPDX-License-Identifier: MIT
// Interpreters that stay in one call for long while it moves: computed goto through a static table, direct threading with
// labels in the heap that outlive the call, label differences, and jump tables whose base is held across calls.
// variants: -O0 | -O1 | -O2 | -O3 | -Os | -O2 -fno-pie -no-pie
#include "hazard.h"

enum { LENGTH = 600 };
static unsigned char program[LENGTH];

// In one function that calls nothing.
static inline __attribute__((always_inline)) int quiet_before(double end) {
  struct timespec now;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"((long)SYS_clock_gettime), "D"((long)CLOCK_PROCESS_CPUTIME_ID), "S"(&now)
                   : "rcx", "r11", "memory");
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6 < end;
}

NOINLINE static uint32_t by_table(double end) {
  static const void *const table[] = {&&add, &&turn, &&times, &&swap, &&done};
  const unsigned char *pc;
  uint32_t a, b, first = 0;
  long rounds = 0;
again:
  pc = program, a = 1, b = 2;
  goto *table[*pc++];
add:
  a += b;
  goto *table[*pc++];
turn:
  b = (b << 5 | b >> 27) ^ a;
  goto *table[*pc++];
times:
  a = a * 9 + 1;
  goto *table[*pc++];
swap:
  a ^= b, b ^= a, a ^= b;
  goto *table[*pc++];
done:
  if (rounds++ == 0) first = a ^ b;
  if ((a ^ b) != first) __builtin_trap();
  if (rounds % 16 != 0 || quiet_before(end)) goto again;
  return first;
}

// The threaded code is made once, in the heap, and executed by later calls too.
NOINLINE static uint32_t threaded(void ***code, double end) {
  if (*code == NULL) {
    void *labels[] = {&&add, &&turn, &&times, &&swap, &&done};
    *code = malloc(sizeof(void *) * LENGTH);
    for (int i = 0; i < LENGTH; ++i) (*code)[i] = labels[program[i]];
    return 0;
  }
  void **pc;
  uint32_t a, b, first = 0;
  long rounds = 0;
again:
  pc = *code, a = 1, b = 2;
  goto **pc++;
add:
  a += b;
  goto **pc++;
turn:
  b = (b << 5 | b >> 27) ^ a;
  goto **pc++;
times:
  a = a * 9 + 1;
  goto **pc++;
swap:
  a ^= b, b ^= a, a ^= b;
  goto **pc++;
done:
  if (rounds++ == 0) first = a ^ b;
  if ((a ^ b) != first) __builtin_trap();
  if (rounds % 16 != 0 || quiet_before(end)) goto again;
  return first;
}

NOINLINE static uint32_t by_distance(double end) {
  static const int table[] = {&&add - &&add, &&turn - &&add, &&times - &&add, &&swap - &&add, &&done - &&add};
  const unsigned char *pc;
  uint32_t a, b, first = 0;
  long rounds = 0;
again:
  pc = program, a = 1, b = 2;
  goto *(&&add + table[*pc++]);
add:
  a += b;
  goto *(&&add + table[*pc++]);
turn:
  b = (b << 5 | b >> 27) ^ a;
  goto *(&&add + table[*pc++]);
times:
  a = a * 9 + 1;
  goto *(&&add + table[*pc++]);
swap:
  a ^= b, b ^= a, a ^= b;
  goto *(&&add + table[*pc++]);
done:
  if (rounds++ == 0) first = a ^ b;
  if ((a ^ b) != first) __builtin_trap();
  if (rounds % 16 != 0 || quiet_before(end)) goto again;
  return first;
}

// Two switches whose tables' addresses a compiler keeps in registers across the calls; some calls are long.
NOINLINE static uint32_t outside(uint32_t x, int i) {
  if (i % 4000 == 77) work_ms(1.5);
  return x * 33 + 7;
}
NOINLINE static uint32_t bases_held(double end) {
  uint32_t first = 0;
  long rounds = 0;
  do {
    uint32_t a = 1, b = 2;
    for (int i = 0; i < LENGTH * 8; ++i) {
      switch (program[i % LENGTH] + 5 * (a & 1)) {
      case 0: a = outside(a, i); break;
      case 1: a ^= b; break;
      case 2: a += 99; break;
      case 3: a *= 3; break;
      case 4: a = outside(a, 1); break;
      case 5: a -= b; break;
      case 6: a = outside(a ^ b, i); break;
      case 7: a = a >> 1 | a << 31; break;
      case 8: a ^= 0x55555555; break;
      default: a += b;
      }
      switch (a % 7) {
      case 0: b = outside(b, 2); break;
      case 1: b += 3; break;
      case 2: b ^= a; break;
      case 3: b = outside(b, i); break;
      case 4: b *= 7; break;
      case 5: b -= 1000; break;
      default: b = b << 9 | b >> 23;
      }
    }
    if (rounds++ == 0) first = a ^ b;
    CHECK((a ^ b) == first);
  } while (before(end));
  return first;
}

// A label kept in memory while its function is suspended in a call, and jumped to afterwards.
static const void *kept[4];
NOINLINE static uint32_t suspended(double end) {
  uint32_t x = 1;
  volatile int step = 0;
  kept[0] = &&one, kept[1] = &&two, kept[2] = &&three, kept[3] = &&out;
next:
  work_ms(1.2);
  goto *kept[step++ % 4];
one:
  x = x * 3 + 1;
  goto next;
two:
  x ^= 0x77;
  goto next;
three:
  x += 5;
  goto next;
out:
  CHECK(x == ((1u * 3 + 1) ^ 0x77) + 5);
  x = 1;
  if (before(end)) goto next;
  return 0;
}

int main(void) {
  uint32_t state = 1;
  for (int i = 0; i < LENGTH - 1; ++i) program[i] = (unsigned char)(draw(&state) % 4);
  program[LENGTH - 1] = 4;
  void **code = NULL;
  threaded(&code, 0);
  const uint32_t a = by_table(section(0.2)), c = by_distance(section(0.2)), d = bases_held(section(0.2));
  suspended(section(0.15));
  uint32_t b = 0;
  for (int i = 0; i < 5; ++i) b = threaded(&code, section(0.05));
  CHECK(a == b && b == c);
  printf("%08x %08x\n", a, d);
  return 0;
}
