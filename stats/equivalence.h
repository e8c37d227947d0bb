// SPDX-License-Identifier: MIT
// Is a difference too small to matter? And verdicts on several benchmarks at once.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "stats/analysis.h"
#include "stats/estimate.h"

namespace stab::stats {

struct Equivalence {
  double p = 0;       // of "the difference is not within the bounds": the larger of the next two
  double p_low = 0;   // of "it is not above bounds.low"
  double p_high = 0;  // of "it is not below bounds.high"
};

// Two one-sided tests (Schuirmann, 1987) of an estimate that has an error; bounds.low <
// bounds.high. p <= alpha exactly if the (1 - 2 alpha) interval lies within the bounds.
Result<Equivalence> tost(const Estimate& estimate, const Interval& bounds);

// The bounds of a margin on the log scale: log(1 / (1 + margin)) to log(1 + margin).
Result<Interval> log_bounds(double margin);

// Each of `count` comparisons is given its part of alpha (Bonferroni), and interval, test of
// equivalence and verdict are all made with that part: so a verdict is what its interval shows, and
// all intervals hold together with probability 1 - alpha. Holm's steps would decide more, but no
// interval goes with them that a reader could check.
//
// One comparison is wrong with at most its part of alpha, whatever the true ratio is: at 1 only
// `faster` and `slower` are wrong; between 1 and the margin only the wrong direction; outside of
// the margin `same` and the wrong direction, and both need the same end of the (1 - 2 alpha)
// interval to miss the truth. So any verdict of the family is wrong with probability alpha at most.
double family_alpha(double alpha, std::size_t count);

// Effects of log differences with family_alpha: ratio, both intervals, df, p (adjusted: times the
// number of comparisons, at most 1) and verdict (effects.h); the names are left to the caller.
// An estimate without error gives an effect without interval, `unsure`.
Result<std::vector<Effect>> family_effects(std::span<const Estimate> log_differences, double alpha,
                                           std::optional<double> margin);

}  // namespace stab::stats
