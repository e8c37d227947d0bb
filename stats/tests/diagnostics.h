// SPDX-License-Identifier: MIT
// Tests of one column of residuals: whether successive trials depend on each other, and whether the
// numbers are normal.
#pragma once

#include <cstddef>
#include <span>

#include "base/error.h"

namespace stab::stats {

// Two tests of whether successive trials depend on each other. `values` are residuals in the order
// of time; if rows were sorted or grouped, independent numbers seem to depend on each other.

struct AutocorrelationTest {
  double r = 0;  // sum of (x[i] - mean)(x[i+1] - mean) / sum of (x[i] - mean)^2
  double z = 0;
  double p = 0;  // two-sided
};

// In independent normal samples r has mean -1/n and variance (n-2)^2 / (n^2 (n-1)) (Moran: Some
// theorems on time series II, Biometrika 1948); p is from the normal distribution. The test needs 8
// or more numbers that are not all equal.
Result<AutocorrelationTest> lag1_autocorrelation(std::span<const double> values);

struct RunsTest {
  std::size_t below = 0;  // numbers below the median; numbers equal to it are left out
  std::size_t above = 0;
  std::size_t runs = 0;  // sequences of numbers on the same side
  double expected = 0;
  double p = 0;  // two-sided
  bool exact = false;
};

// Counts runs about the median (Wald and Wolfowitz, Annals of Mathematical Statistics 1940). p is
// twice the smaller tail, from the exact distribution if neither side has more than 50 numbers,
// otherwise from the normal approximation. The test needs two or more numbers on each side.
Result<RunsTest> runs_test(std::span<const double> values);

// Two tests of whether a sample is normal. A small p says that it is not; a large p does not say
// that it is.

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
