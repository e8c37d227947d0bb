// SPDX-License-Identifier: MIT
// Welch's t-test for means of independent numbers whose variances may differ.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "stats/models/own_error.h"
#include "stats/numbers/summary.h"
#include "stats/tests/estimate.h"

namespace stab::stats {

// The mean of b minus the mean of a, with Satterthwaite's degrees of freedom (Welch, Biometrika
// 1947). With fewer than two numbers in a group the estimate has no error.
Estimate welch(const Moments& a, const Moments& b);

// The same for a contrast of cells, one for each weight. Each cell has its own variance.
Estimate welch(std::span<const Moments> cells, const Contrast& contrast);

struct EqualMeans {
  double f = 0;
  double df = 0;
  double error_df = 0;
  double p = 1;
};

// Welch's analysis of variance (Biometrika 1951; R: oneway.test): tests whether independent
// estimates of several groups are all equal, although their variances differ. An estimate without
// an error, or with a variance of 0, takes no part. Returns nothing for fewer than two estimates.
std::optional<EqualMeans> test_equal(std::span<const Estimate> estimates);

}  // namespace stab::stats
