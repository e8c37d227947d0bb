// SPDX-License-Identifier: MIT
// Tests whether successive trials depend on each other. `values` are residuals in the order of
// time; if rows were sorted or grouped, independent numbers seem to depend on each other.
#pragma once

#include <cstddef>
#include <span>

#include "base/error.h"

namespace stab::stats {

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

}  // namespace stab::stats
