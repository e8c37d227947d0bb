// SPDX-License-Identifier: MIT
// Variance components of groups (layouts, for example) that are drawn at random within cells:
// y = cell + group + error. Estimates how much of the variance is between the groups of a cell, and
// how much is within groups, with (1 - alpha) intervals. Groups may be of unequal size.
//
// If r = between / within is known, the groups' means have variances in known proportions. So their
// weighted sum of squares about each cell's weighted mean, divided by that within groups, is
// exactly F (Wald, Annals of Mathematical Statistics 1940). It falls as r grows, so it is solved
// for r:
// - At the upper and lower points of F it gives the exact interval of r. With that r, the group
//   means give a variance within, by the same points of chi-squared; its product with r gives the
//   interval of `between` (Williams, Biometrika 1962, and Tukey for equal sizes).
// - At F = 1 it gives the estimate (Paule and Mandel, Journal of Research of the NBS 1982), which
//   therefore lies within the interval. With equal sizes it is that of the analysis of variance.
// - At r = 0 it is the F test, which gives p.
// The interval of `within` is by chi-squared.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"
#include "stats/numbers/summary.h"

namespace stab::stats {

struct ComponentIntervals {
  double between = 0;  // an estimate below 0 becomes 0, and so do the interval's ends
  Interval between_interval{};
  double within = 0;
  Interval within_interval{};
  double share = 0;  // between / (between + within)
  double p = 0;      // p of "groups do not matter" (F test)
};

// `cells` has a row of groups for each cell. At least one cell must have two groups, at least one
// group must have two numbers, and no group may be empty.
Result<ComponentIntervals> variance_components(std::span<const std::vector<Moments>> cells,
                                               double alpha);

}  // namespace stab::stats
