// SPDX-License-Identifier: MIT
// How large an effect is, with the (1 - alpha) interval of its size.
#pragma once

#include <cstddef>
#include <span>

#include "base/error.h"
#include "stats/summary.h"

namespace stab::stats {

struct EffectSize {
  double value = 0;
  Interval interval{};
};

// Geometric mean of b / geometric mean of a, by Welch's interval of the difference of logarithms.
// For two numbers above 0 or more in each.
Result<EffectSize> ratio_of_means(std::span<const double> a, std::span<const double> b,
                                  double alpha);

// (b's mean - a's) in pooled standard deviations, times the exact correction for small samples
// (Hedges, 1981). The interval inverts the noncentral t distribution (Steiger and Fouladi, 1997)
// and is corrected likewise. For three numbers or more in all.
Result<EffectSize> hedges_g(const Moments& a, const Moments& b, double alpha);

// P(b > a) - P(b < a) of one number of each (Cliff, 1993). The interval is the asymmetric one of
// Feng and Cliff (Journal of Modern Applied Statistical Methods 2004) with the unbiased variance;
// where the samples do not overlap, it reaches from (k - z^2) / (k + z^2) to 1, for the smaller
// size k. For two numbers or more in each.
Result<EffectSize> cliffs_delta(std::span<const double> a, std::span<const double> b, double alpha);

// A term of an analysis of variance of n trials, and what it is compared with.
struct TermSums {
  double ss = 0;
  double df = 0;
  double rest_ss = 0;
  double rest_df = 0;
  std::size_t n = 0;
};

// ss / (ss + rest_ss). With the residuals as the rest: partial eta squared; with all that is not
// this term: eta squared. The interval inverts the noncentral F distribution: lambda / (lambda + n)
// (Steiger, Psychological Methods 2004). By custom alpha is twice that of the F test, so that the
// interval excludes 0 exactly if the test is significant.
Result<EffectSize> eta_squared(const TermSums& term, double alpha);

// The same share without its bias (Hays, 1963): (ss - df ms) / (ss + rest_ss + ms), where ms is the
// rest's mean square; for a term of one-way designs. Never below 0.
Result<double> omega_squared(const TermSums& term);

}  // namespace stab::stats
