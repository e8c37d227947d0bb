// SPDX-License-Identifier: MIT
// The one-way random model y = mean + group + error: how much of the variance is between groups
// (layouts, say), and how much within them, with (1 - alpha) intervals.
#pragma once

#include <span>

#include "base/error.h"
#include "stats/summary.h"

namespace stab::stats {

struct MeanSquares {
  double between = 0;
  double between_df = 0;
  double within = 0;
  double within_df = 0;
  double size = 0;  // numbers a group: E(between) = within's variance + size * between's variance
};

struct ComponentIntervals {
  double between = 0;  // an estimate below 0 is given as 0, and so are the interval's ends
  Interval between_interval{};
  double within = 0;
  Interval within_interval{};
  double share = 0;  // between / (between + within)
  double p = 0;      // of "groups do not matter" (F test)
};

// Balanced groups, or any design with these two mean squares.
//
// within: the chi-squared interval. between: the modified large-sample interval of Ting, Burdick,
// Graybill, Jeyaratnam and Lu (Journal of Statistical Computation and Simulation 1990).
Result<ComponentIntervals> variance_components(const MeanSquares& squares, double alpha);

// Two groups or more, one of them of two numbers or more. Unequal groups: the estimates are those
// of the analysis of variance (Searle, Casella, McCulloch: Variance components, 1992, 3.6); the
// interval of `between` uses the unweighted mean square of the group means and the harmonic mean of
// the sizes instead (Thomas and Hultquist, Annals of Statistics 1978), because theirs is close to
// chi-squared; p is that of the F test, which stays exact.
Result<ComponentIntervals> variance_components(std::span<const Moments> groups, double alpha);

}  // namespace stab::stats
