// SPDX-License-Identifier: MIT
// Do groups vary equally? One-way analysis of variance of the distances from each group's median.
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
// mean (Levene, 1960) the error rate of skewed numbers is too high. The test needs two or more
// groups of two or more numbers, and a group whose distances differ.
Result<VarianceTest> brown_forsythe(std::span<const std::vector<double>> groups);

}  // namespace stab::stats
