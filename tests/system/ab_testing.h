// SPDX-License-Identifier: MIT
// For tests: 'stabctl ab' with a small budget on a machine of any speed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <string>

#include "tests/system/lab.h"

namespace stab::test {

// It has measured nothing: the first runs took too much of the budget.
inline bool lacks_time(const Output& told) {
  return told.code == 1 &&
         (told.err.contains("is not enough for ") || told.err.contains("its timeout of "));
}

// At most 25 lines of 80 columns.
inline void expect_one_screen(const std::string& text) {
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count)
    EXPECT_LE(std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }), 80) << line;
  EXPECT_LE(count, 25) << text;
}

// Runs it with a budget of so many seconds, and where `lacks` says that it lacks something, with
// three times that, up to some minutes.
inline Output with_enough(int seconds, const std::function<Output(const std::string& budget)>& run,
                          const std::function<bool(const Output&)>& lacks = lacks_time) {
  for (;; seconds *= 3) {
    Output told = run(std::to_string(seconds) + "s");
    if (seconds >= 100 || !lacks(told)) return told;
  }
}

}  // namespace stab::test
