// SPDX-License-Identifier: MIT
// Two threads of unequal length: the longer one decides, by 4.5 % at most; then the other one does. That
// one's line gives nothing.
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
