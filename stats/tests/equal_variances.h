// SPDX-License-Identifier: MIT
// Tests whether groups vary equally: one-way analysis of variance of distances from each group's
// median.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"

namespace stab::stats {

struct VarianceTest {
  double f = 0;
  double df1 = 0;
  double df2 = 0;
  double p = 0;
};

// Brown and Forsythe (JASA 1974) take distances from the median, because with distances from the
// mean (Levene, 1960) the error rate is too high for skewed numbers. The test needs two or more
// groups of two or more numbers, and a group whose distances differ.
Result<VarianceTest> brown_forsythe(std::span<const std::vector<double>> groups);

}  // namespace stab::stats
