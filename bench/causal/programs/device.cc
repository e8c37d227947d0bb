// SPDX-License-Identifier: MIT
// Each item comes from a slow device (a thread that sleeps, behind a pipe). The program works on an
// item while the next one is on its way. Once the work takes less time than the device, only the
// device determines the speed. The pipe holds one item, so that items do not pile up before the work
// becomes faster.
#include <fcntl.h>
#include <unistd.h>

#include <array>
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
  std::array<char, 4096> sent{};
  std::array<char, 4096> item{};
  if (pipe(ends) != 0 || fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(sent.size())) < 0) return 1;
  std::thread device([&] {
    for (long i = 0; i < bench.visits(); ++i) {
      usleep(500);
      if (write(ends[1], sent.data(), sent.size()) != std::ssize(sent)) std::exit(1);
    }
  });
  for (long i = 0; i < bench.visits(); ++i) {
    if (read(ends[0], item.data(), item.size()) != std::ssize(item)) return 1;
    use(bench);
    STAB_PROGRESS("item");
  }
  device.join();
}
