// SPDX-License-Identifier: MIT
// A program that is one function, calls nothing while it works, and spends its time in one loop over a jump table.
// variants: -O0 | -O1 | -O2 | -O3 | -Os | -O2 -fno-pie -no-pie
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

int main(void) {
  const char *text = getenv("HAZARD_MS");
  const double whole = text ? atof(text) : 200;
  unsigned char program[512];
  uint32_t state = 1, expected = 0;
  for (int i = 0; i < 512; ++i) {
    state = state * 1103515245u + 12345u;
    program[i] = (state >> 16) % 12;
  }
  for (long rounds = 0;; ++rounds) {
    uint32_t a = 1, b = 2;
    for (int i = 0; i < 20000; ++i) {
      switch (program[(i + a) & 511]) {
      case 0: a += b; break;
      case 1: b ^= a << 3; break;
      case 2: a *= 5; break;
      case 3: b -= a; break;
      case 4: a = (a >> 7) | (a << 25); break;
      case 5: b += 0x1234567; break;
      case 6: a ^= 0xdeadbeef; break;
      case 7: b = b * 3 + 1; break;
      case 8: { uint32_t t = a; a = b; b = t; break; }
      case 9: a -= 17; break;
      case 10: b |= 1; break;
      default: a ^= b >> 2;
      }
    }
    if (rounds == 0) expected = a ^ b;
    if ((a ^ b) != expected) return 70;
    struct timespec now;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_clock_gettime), "D"((long)CLOCK_PROCESS_CPUTIME_ID), "S"(&now)
                     : "rcx", "r11", "memory");
    if (result != 0) return 71;
    if ((double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6 > whole) break;
  }
  printf("%08x\n", expected);
  return 0;
}
