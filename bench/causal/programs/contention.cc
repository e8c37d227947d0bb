// SPDX-License-Identifier: MIT
// A thread that prepares something outside of a lock and then holds it: the faster it prepares, the more
// of the time the lock is taken, and the longer the other thread waits, whose rounds are counted. All
// times are drawn anew each round, so that the two do not fall into step.
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

#include "work.h"

namespace {

constexpr long ms = 3'000'000;

std::mutex mutex;
std::atomic<bool> over{false};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}
  // From a half to one and a half of so many steps.
  long around(long steps) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return steps / 2 + static_cast<long>((state_ >> 33) % static_cast<std::uint64_t>(steps));
  }

 private:
  std::uint64_t state_;
};

__attribute__((noinline)) void prepare(long steps) {
  BUSY(steps);  // knob
}

void hold(long steps) {
  const std::lock_guard lock(mutex);
  BUSY(steps);
}

void crowd(const Bench& bench) {
  Draw draw(1);
  while (!over) {
    prepare(draw.around(bench.faster(8 * ms)));
    hold(draw.around(2 * ms));
  }
}

void work(const Bench& bench) {
  Draw draw(2);
  for (long i = 0; i < bench.visits(); ++i) {
    BUSY(draw.around(2 * ms));
    hold(draw.around(2 * ms));
    STAB_PROGRESS("round");
  }
}

}  // namespace

int main(int count, char** words) {
  const Bench bench(count, words);
  std::thread other([&] { crowd(bench); });
  work(bench);
  over = true;
  other.join();
}
