// SPDX-License-Identifier: MIT
// When may an experiment end early? Rules are asked at block boundaries only.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "stats/alpha_spending.h"
#include "stats/analysis.h"
#include "stats/estimate.h"

namespace stab::stats {

enum class Stop {
  go_on,
  precise,    // every interval is narrow enough
  different,  // the boundary of a sequential test was crossed
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

// Group-sequential: one comparison is tested at each look at the level that alpha_spending.h gives
// it, so that all looks together reject a true null hypothesis with probability alpha.
//
// The boundaries are for normal statistics with known variance. With an estimated variance the
// two-sided p of Student's t is compared with the boundary's nominal level (Jennison and Turnbull:
// Group sequential methods, 2000): exact for one look, and near it for several; the slow tests
// measure it. Several comparisons: plan each with its part of alpha (equivalence.h).
class SequentialTest {
 public:
  // `looks`: after how many blocks; rising, the last is the largest number of blocks.
  static Result<SequentialTest> plan(std::span<const std::size_t> looks, double alpha);

  // At a number of blocks that is no look: go_on (beyond the last one: exhausted). An estimate
  // without error never crosses.
  [[nodiscard]] Stop decide(std::size_t blocks, const Estimate& estimate) const;

  // The interval at a look that holds together with those at all other looks with probability
  // 1 - alpha, whenever and for whatever reason the experiment ends (Jennison and Turnbull:
  // Repeated confidence intervals, 1989). It excludes 0 exactly if the boundary is crossed. Absent
  // where the look has no boundary.
  [[nodiscard]] std::optional<Interval> interval(std::size_t blocks,
                                                 const Estimate& estimate) const;

  [[nodiscard]] std::span<const Look> looks() const { return looks_; }

 private:
  SequentialTest(std::vector<std::size_t> blocks, std::vector<Look> looks)
      : blocks_(std::move(blocks)), looks_(std::move(looks)) {}
  [[nodiscard]] const Look* look_at(std::size_t blocks) const;

  std::vector<std::size_t> blocks_;
  std::vector<Look> looks_;
};

}  // namespace stab::stats
