// SPDX-License-Identifier: MIT
// Student's t-tests (Biometrika 1908) as estimates: estimate.h turns them into p-values and
// intervals. Welch's is in welch.h.
#pragma once

#include <span>

#include "base/error.h"
#include "stats/numbers/summary.h"
#include "stats/tests/estimate.h"

namespace stab::stats {

// b's mean - a's, with one variance for both. For three numbers or more in all, one or more in
// each, that are not all equal to their mean.
Result<Estimate> student(const Moments& a, const Moments& b);

// The mean of b[i] - a[i]. For two pairs or more whose differences are not all equal.
Result<Estimate> paired(std::span<const double> a, std::span<const double> b);

}  // namespace stab::stats
