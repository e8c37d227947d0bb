// SPDX-License-Identifier: MIT
// Two threads of unequal length. The longer thread determines the time of a round until it has become
// 4.5 % faster. From then on, the other thread does. A faster line in the other thread gains nothing.
#include <thread>

#include "work.h"

namespace {

__attribute__((noinline)) void longer(const Bench& bench) {
  BUSY(bench.faster(9'000'000));  // knob
}

__attribute__((noinline)) void shorter(const Bench& bench) {
  BUSY(bench.other_faster(8'595'000));  // other
}

}  // namespace

int main(int count, char** words) {
  const Bench bench(count, words);
  for (long i = 0; i < bench.visits(); ++i) {
    std::thread one([&] { longer(bench); });
    std::thread other([&] { shorter(bench); });
    one.join();
    other.join();
    STAB_PROGRESS("round");
  }
}
