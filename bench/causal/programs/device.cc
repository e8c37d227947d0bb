// SPDX-License-Identifier: MIT
// Each item comes from a slow device (a thread that sleeps, behind a pipe) and is worked on while the
// next one is on its way: the device decides as soon as the work takes less than it does.
#include <unistd.h>

#include <thread>

#include "work.h"

namespace {

__attribute__((noinline)) void use(const Bench& bench) {
  BUSY(bench.faster(2'400'000));  // knob
}

}  // namespace

int main(int count, char** words) {
  const Bench bench(count, words);
  int ends[2];
  if (pipe(ends) != 0) return 1;
  std::thread device([&] {
    for (long i = 0; i < bench.visits(); ++i) {
      usleep(500);
      const char byte = 0;
      if (write(ends[1], &byte, 1) != 1) std::exit(1);
    }
  });
  for (long i = 0; i < bench.visits(); ++i) {
    char byte;
    if (read(ends[0], &byte, 1) != 1) return 1;
    use(bench);
    STAB_PROGRESS("item");
  }
  device.join();
}
