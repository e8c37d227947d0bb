// SPDX-License-Identifier: MIT
// For tests: cells with means.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stats/verdicts/analysis.h"

namespace stab::report::html {

// The levels and the mean of each cell of one subject.
using Cells = std::vector<std::pair<std::vector<std::string>, double>>;

inline void add_subject(stats::Analysis& analysis, const std::string& subject, const Cells& cells) {
  for (const auto& [levels, mean] : cells)
    analysis.means.push_back({.subject = subject, .levels = levels, .n = 3, .mean = mean});
}

}  // namespace stab::report::html
