// SPDX-License-Identifier: MIT
// Tests whether a sample is normal. A small p says that it is not; a large p does not say that it
// is.
#pragma once

#include <span>

#include "base/error.h"

namespace stab::stats {

struct NormalityTest {
  double statistic = 0;
  double p = 0;
};

// W and its p follow Royston (Applied Statistics 44, 1995: AS R94). The test needs 3 to 5000
// numbers that are not all equal.
Result<NormalityTest> shapiro_wilk(std::span<const double> values);

// A^2 is computed with estimated mean and variance. p is the p of A^2 (1 + 0.75/n + 2.25/n^2) by
// the approximation of D'Agostino and Stephens (Goodness-of-fit techniques, 1986, table 4.9). The
// approximation ends at 10, so p is never below 3.7e-24. The test needs 8 or more numbers that are
// not all equal.
Result<NormalityTest> anderson_darling(std::span<const double> values);

}  // namespace stab::stats
