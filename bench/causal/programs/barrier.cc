// SPDX-License-Identifier: MIT
// Two threads that wait for each other by spinning on a word that both write: who spins faster takes
// the line away from who works. The knob makes the spinning thread pause for so many permille of the
// time that it pauses for without it.
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
