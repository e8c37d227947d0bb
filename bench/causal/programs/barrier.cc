// SPDX-License-Identifier: MIT
// Two threads meet at the end of each round. Who is there first polls under the lock that the other one
// needs for each of its pieces of work: the shorter the pause between two polls, which the knob makes
// shorter, the longer the other one waits for the lock.
#include <mutex>
#include <thread>

#include "work.h"

namespace {

constexpr long ms = 1'500'000;

std::mutex lock;
long arrived = 0;

bool all_are_there(long until) {
  const std::lock_guard held(lock);
  BUSY(2 * ms);
  return arrived >= until;
}

__attribute__((noinline)) void wait_for(long until, long pause) {
  while (!all_are_there(until)) BUSY(pause);  // knob
}

__attribute__((noinline)) void work(int pieces) {
  for (int i = 0; i < pieces; ++i) {
    BUSY(4 * ms);
    const std::lock_guard held(lock);
  }
}

void rounds(const Bench& bench, bool is_slower) {
  for (long i = 1; i <= bench.visits(); ++i) {
    work(is_slower ? 8 : 1);
    {
      const std::lock_guard held(lock);
      ++arrived;
    }
    wait_for(2 * i, bench.faster(8 * ms));
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
