// SPDX-License-Identifier: MIT
// When may an experiment end early? Rules are asked at block boundaries only.
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

// By precision: the half width of each effect's interval of the ratio. It does not look at the
// direction, but it stops where the variance happens to look small, so its intervals are too
// narrow: those of 95 % hold the truth in 94 % of experiments after 20 blocks or more, in 92 %
// after 5. So the intervals, those that are asked here and those that are reported, are made with
// precision_alpha: then they hold the truth as often as they say if `min_blocks` is 20 or more,
// whatever the target (measured: doc/statistics.md).
inline double precision_alpha(double alpha) {
  return 0.75 * alpha;
}

struct PrecisionRule {
  double half_width = 0;  // 0.005: the ratio is known to half a percent
  std::size_t min_blocks = 20;
  std::size_t max_blocks = 0;
};

// An effect without an interval is never precise; without effects nothing is.
Stop decide(const PrecisionRule& rule, std::size_t blocks, std::span<const Effect> effects);

}  // namespace stab::stats
