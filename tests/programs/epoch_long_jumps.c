// SPDX-License-Identifier: MIT
// Old layouts are forgotten although the program keeps jmp_bufs for long: what its callers had in registers comes back
// right, jump tables in loops among it.
// variants: -O0 | -O2 | -O2 -fomit-frame-pointer -fcf-protection | -O3 -flto
#include "hazard.h"
#include <setjmp.h>

static jmp_buf base;
static double end;

NOINLINE static void jump_back(int depth) {
  if (depth == 0) longjmp(base, 1);
  jump_back(depth - 1);
  CHECK(!"a jump does not return");
}
// Keeps the buffer for a while; its callers' registers come back through the frame of this function.
NOINLINE static int comes_back(double ms) {
  if (setjmp(base) != 0) return 1;
  work_ms(ms);
  jump_back(5);
  return 0;
}
// A loop whose jump table the compiler may keep in a register over the call.
NOINLINE static uint32_t turns(const unsigned char *codes, int count, double ms) {
  uint32_t a = 1, b = 2, c = 3;
  for (int i = 0; i < count; ++i) {
    switch (codes[i]) {
    case 0: a += b * 3; break;
    case 1: b ^= a << 3; break;
    case 2: c += a ^ b; break;
    case 3: a = c * 5 + 1; break;
    case 4: b += c; break;
    case 5: CHECK(comes_back(ms) == 1); break;
    case 6: c ^= 0x55; break;
    default: a -= 7;
    }
  }
  return a ^ b ^ c;
}

int main(void) {
  static const unsigned char codes[] = {0, 1, 2, 5, 3, 4, 5, 6, 7, 0, 5, 2, 4, 1, 3, 6};
  end = section(1);
  const uint32_t first = turns(codes, sizeof codes, 0);
  while (before(end)) CHECK(turns(codes, sizeof codes, 2.5) == first);
  printf("%x\n", first);
  return 0;
}
