// SPDX-License-Identifier: MIT
// Two threads wait for each other by spinning on a word that both write. The faster the waiting
// thread spins, the more often it takes the cache line away from the thread that works. The knob
// shortens the pauses of the spinning thread.
#include <atomic>
#include <thread>

#include "work.h"

namespace {

std::atomic<long> arrived{0};
std::atomic<long> sum{0};

__attribute__((noinline)) void spin(long until, long pause) {
  while (arrived.fetch_add(0) < until) BUSY(pause);  // knob
}

__attribute__((noinline)) void work(long steps) {
  for (long i = 0; i < steps; ++i) sum.fetch_add(1);
}

void rounds(const Bench& bench, bool is_slower) {
  for (long i = 1; i <= bench.visits(); ++i) {
    work(is_slower ? 60'000 : 20'000);
    arrived.fetch_add(1);
    spin(2 * i, bench.faster(40));
    if (is_slower) STAB_PROGRESS("round");
  }
}

}  // namespace

int main(int count, char** words) {
  const Bench bench(count, words);
  std::thread other([&] { rounds(bench, false); });
  rounds(bench, true);
  other.join();
}
