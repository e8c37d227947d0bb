// SPDX-License-Identifier: MIT
// Welch's t-test: two means whose variances may differ.
#pragma once

#include <span>

#include "stats/estimate.h"
#include "stats/summary.h"

namespace stab::stats {

// b's mean - a's, with Satterthwaite's degrees of freedom (Welch, Biometrika 1947). Groups below
// two numbers give an estimate without error.
Estimate welch(const Moments& a, const Moments& b);

// The same for the mean of a's cell means and the mean of b's: each cell has its own variance. No
// cell list is empty.
Estimate welch(std::span<const Moments> a, std::span<const Moments> b);

}  // namespace stab::stats
