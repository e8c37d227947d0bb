// SPDX-License-Identifier: MIT
// Each item fails in a deep call, and the exception is caught far above. The time of the line lies
// between two throws.
#include <stdexcept>

#include "work.h"

namespace {

__attribute__((noinline)) long dig(long depth) {
  if (depth == 0) throw std::runtime_error("bottom");
  const long below = dig(depth - 1);
  asm volatile("");
  return below + 1;
}

__attribute__((noinline)) void check(const Bench& bench) {
  BUSY(bench.faster(90'000));  // knob
}

}  // namespace

int main(int count, char** words) {
  const Bench bench(count, words);
  long caught = 0;
  for (long i = 0; i < bench.visits(); ++i) {
    check(bench);
    try {
      caught += dig(12);
    } catch (const std::runtime_error&) {
      ++caught;
    }
    STAB_PROGRESS("item");
  }
  return caught != bench.visits();
}
