// SPDX-License-Identifier: MIT
// The alarms of series, for comparison with another program: each line of the input is a series of
// numbers, each line of the output has "raised at" of each of its alarms.
//   build/bench/watched < SERIES
#include <fmt/format.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "stats/series/watch.h"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream numbers(line);
    std::vector<double> series;
    for (double x = 0; numbers >> x;) series.push_back(x);
    std::string text;
    for (const stab::stats::Alarm& alarm : stab::stats::watch(series, {}))
      text += fmt::format("{}{} {}", text.empty() ? "" : " ", alarm.raised, alarm.at);
    fmt::print("{}\n", text);
  }
  return 0;
}
