// SPDX-License-Identifier: MIT
// A reader takes no lock. If the reader finds the writer at work, it makes the data itself, which
// takes longer. The faster the writer prepares its data, the more often this happens, and the fewer
// rounds the reader completes. Neither thread waits. All times are random in each round, so that the
// threads do not fall into step. A pause must be short compared with a write; otherwise, writes end
// during the pauses.
// profile: --sample-period 100us
#include <atomic>
#include <cstdint>
#include <thread>

#include "work.h"

namespace {

constexpr long ms = 3'000'000;

std::atomic<bool> is_written{false};
std::atomic<bool> is_over{false};

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

void write(const Bench& bench) {
  Draw draw(1);
  while (!is_over) {
    prepare(draw.around(bench.faster(8 * ms)));
    is_written = true;
    BUSY(draw.around(2 * ms));
    is_written = false;
  }
}

void read(const Bench& bench) {
  Draw draw(2);
  for (long i = 0; i < bench.visits(); ++i) {
    BUSY(draw.around(3 * ms));
    if (is_written) BUSY(draw.around(4 * ms));
    STAB_PROGRESS("round");
  }
}

}  // namespace

int main(int count, char** words) {
  const Bench bench(count, words);
  std::thread writer([&] { write(bench); });
  read(bench);
  is_over = true;
  writer.join();
}
