// SPDX-License-Identifier: MIT
// Two threads spend most of their time in a critical section that only one of them may be in. The
// section takes longer than the time between two samples, because a pause stands for the whole time
// between two samples.
#include <mutex>
#include <thread>

#include "work.h"

namespace {

std::mutex mutex;

__attribute__((noinline)) void inside(const Bench& bench) {
  BUSY(bench.faster(3'000'000));  // knob
}

__attribute__((noinline)) void outside() {
  BUSY(1'500'000);
}

void work(const Bench& bench, long rounds) {
  for (long i = 0; i < rounds; ++i) {
    {
      const std::lock_guard lock(mutex);
      inside(bench);
    }
    outside();
    STAB_PROGRESS("section");
  }
}

}  // namespace

int main(int count, char** words) {
  const Bench bench(count, words);
  std::thread other([&] { work(bench, bench.visits() / 2); });
  work(bench, bench.visits() - bench.visits() / 2);
  other.join();
}
