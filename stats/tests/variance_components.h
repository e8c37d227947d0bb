// SPDX-License-Identifier: MIT
// Groups (layouts, say) drawn at random within cells, y = cell + group + error: how much of the
// variance is between the groups of a cell, and how much within groups, with (1 - alpha) intervals.
// Groups may be of unequal size.
//
// With r = between / within known, the groups' means have variances in known proportions, so their
// weighted sum of squares about each cell's weighted mean, over that within groups, is exactly F
// (Wald, Annals of Mathematical Statistics 1940). It falls as r grows, so it is solved for r:
// - at F's upper and lower point: the exact interval of r. Times what the group means then say the
//   variance within is, by the same points of chi-squared: the interval of `between` (Williams,
//   Biometrika 1962, and Tukey for equal sizes);
// - at F = 1: the estimate (Paule and Mandel, Journal of Research of the NBS 1982), which therefore
//   lies within the interval. With equal sizes it is that of the analysis of variance;
// - at r = 0 it is the F test, which gives p.
// within: the chi-squared interval.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "stats/numbers/summary.h"

namespace stab::stats {

struct ComponentIntervals {
  double between = 0;  // an estimate below 0 is given as 0, and so are the interval's ends
  Interval between_interval{};
  double within = 0;
  Interval within_interval{};
  double share = 0;  // between / (between + within)
  double p = 0;      // of "groups do not matter" (F test)
};

// A row of groups for each cell. Two groups or more in some cell, one group or more of two numbers
// or more, none of no numbers.
Result<ComponentIntervals> variance_components(std::span<const std::vector<Moments>> cells,
                                               double alpha);

}  // namespace stab::stats
