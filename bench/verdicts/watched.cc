// SPDX-License-Identifier: MIT
// Prints the alarms of series, for comparison with another program. Each line of the input is a
// series of numbers. Each line of the output shows where each alarm of the series was raised.
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
