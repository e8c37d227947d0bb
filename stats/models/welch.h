// SPDX-License-Identifier: MIT
// Welch's t-test for means of independent numbers whose variances may differ.
#pragma once

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

}  // namespace stab::stats
