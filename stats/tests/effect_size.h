// SPDX-License-Identifier: MIT
// The size of a term's effect in an analysis of variance, as a share of the variance.
#pragma once

#include <optional>

#include "stats/numbers/summary.h"

namespace stab::stats {

struct Shares {
  // Partial eta squared: the term's share of the sum of its own and the error's squares. It grows
  // with the term's degrees of freedom even if nothing differs, so it describes only the sample.
  double eta2 = 0;
  // Partial omega squared, an estimate of the population's share (Hays, 1963; Keren and Lewis,
  // Educational and Psychological Measurement 1979); never below 0.
  double omega2 = 0;
  // The (1 - 2 alpha) interval of the population's share, lambda / (lambda + df1 + df2 + 1), by the
  // noncentral F distribution (Steiger, Psychological Methods 2004). It contains omega2, and it
  // excludes 0 exactly if the F test does. Absent if the distribution cannot be computed.
  std::optional<Interval> interval{};
};

// The shares of a term with this F. Returns nothing unless f >= 0, df1 > 0, df2 > 0, and all are
// finite.
std::optional<Shares> shares(double f, double df1, double df2, double alpha);

}  // namespace stab::stats
