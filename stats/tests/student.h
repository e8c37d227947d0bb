// SPDX-License-Identifier: MIT
// Student's t-tests (Biometrika 1908) as estimates: estimate.h turns them into p-values and
// intervals. Welch's test is in welch.h.
#pragma once

#include <span>

#include "base/error.h"
#include "stats/numbers/summary.h"
#include "stats/tests/estimate.h"

namespace stab::stats {

// The mean of b minus the mean of a, with one variance for both. It needs three numbers in all and
// at least one on each side, and they must not all equal their mean.
Result<Estimate> student(const Moments& a, const Moments& b);

// The mean of b[i] - a[i]. It needs two or more pairs whose differences are not all equal.
Result<Estimate> paired(std::span<const double> a, std::span<const double> b);

}  // namespace stab::stats
