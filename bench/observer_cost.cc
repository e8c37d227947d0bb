// SPDX-License-Identifier: MIT
// observer_cost [TRIALS]: measures the time it takes to read from the kernel, before and after a
// trial, how quiet the machine is (machine/observer.h). Prints the median and the 99th percentile
// of both together, over TRIALS measurements (default: 5000).
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "machine/observer.h"

namespace {

using namespace stab;

double now_us(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

void print(const char* what, std::vector<double> values) {
  std::ranges::sort(values);
  fmt::print("{}: median {:.0f} us, 99 % below {:.0f} us\n", what, values[values.size() / 2],
             values[values.size() * 99 / 100]);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t trials = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 5000;
  const auto topology = machine::Topology::load();
  if (!topology || trials == 0) return 1;
  machine::Observer observer({topology->allowed().back()});
  std::vector<double> wall;
  std::vector<double> cpu;
  for (std::size_t i = 0; i < trials; ++i) {
    std::vector<counters::Reading> readings;
    const double wall_begin = now_us(CLOCK_MONOTONIC);
    const double cpu_begin = now_us(CLOCK_THREAD_CPUTIME_ID);
    observer.before();
    observer.after(readings);
    cpu.push_back(now_us(CLOCK_THREAD_CPUTIME_ID) - cpu_begin);
    wall.push_back(now_us(CLOCK_MONOTONIC) - wall_begin);
  }
  print("CPU time", cpu);
  print("wall time", wall);
  return 0;
}
