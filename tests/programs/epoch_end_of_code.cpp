// SPDX-License-Identifier: MIT
// Exceptions leave functions that have jump tables and end with a call that does not return: where it would return to is the end of
// the function, whatever its size is.
// variants: -O0 | -O2
#include <utility>

#include "hazard.h"

namespace {

volatile unsigned sink;

struct Guard {
  unsigned& value;
  ~Guard() { value ^= 1; }
};

NOINLINE void throw_unless(unsigned a) {
  if (a != 12345) throw 1;
}

template <int nops>
NOINLINE unsigned choose(unsigned op, unsigned a, int depth) {
  Guard guard{a};
  __asm__ volatile(".fill %c0, 1, 0x90" : : "i"(nops));
  switch (op % 9) {
    case 0: a = a * 3 + 1; break;
    case 1: a ^= a >> 3; break;
    case 2: a += 0x1234567; break;
    case 3: a = a * 5 - 7; break;
    case 4: a ^= a << 5; break;
    case 5: a -= 99; break;
    case 6: a = ~a; break;
    case 7: a = a * 9; break;
    case 8: a = (a << 7) | (a >> 25); break;
  }
  if (depth > 0)
    a += choose<nops>(op + 1, a, depth - 1);
  else
    throw_unless(a);
  return a;
}

template <int... nops>
unsigned leave_all(std::integer_sequence<int, nops...>) {
  unsigned caught = 0;
  const auto leave = [&](unsigned (*function)(unsigned, unsigned, int), unsigned n) {
    try {
      sink = sink + function(n, n, 5);
    } catch (int) {
      ++caught;
    }
  };
  (leave(choose<nops>, nops + 1), ...);
  return caught;
}

}  // namespace

int main() {
  for (double end = section(1); before(end);) CHECK(leave_all(std::make_integer_sequence<int, 16>()) == 16);
  puts("all were caught");
}
