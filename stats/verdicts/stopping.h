// SPDX-License-Identifier: MIT
// Rules that may end an experiment early. They are asked at block boundaries only.
#pragma once

#include <cstddef>
#include <span>

#include "stats/verdicts/analysis.h"

namespace stab::stats {

enum class Stop {
  go_on,
  precise,    // every interval is narrow enough
  exhausted,  // the largest number of blocks was reached
};

// The precision rule checks the half width of the interval of each ratio. It ignores the direction,
// but it tends to stop when the variance looks small by chance: 95 % intervals contain the truth in
// only 94 % of experiments that may stop from block 30 on, and in 92 % from block 5 on. So the rule and
// the report make intervals with precision_alpha(). These contain the truth as often as they claim
// if `min_blocks` is 20 or more (measured: doc/statistics.md).
inline double precision_alpha(double alpha) {
  return 0.75 * alpha;
}

struct PrecisionRule {
  double half_width = 0;  // 0.005: the ratio is known to half a percent
  std::size_t min_blocks = 20;
  std::size_t max_blocks = 0;
};

// An effect without an interval is never precise, unless it is exact. Without effects the
// experiment goes on.
Stop decide(const PrecisionRule& rule, std::size_t blocks, std::span<const Effect> effects);

}  // namespace stab::stats
