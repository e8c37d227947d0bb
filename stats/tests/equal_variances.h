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

// Distances from the median (Brown and Forsythe, JASA 1974), which hold the error rate for skewed
// numbers too; those from the mean (Levene, 1960) do not.
// For two groups or more of two numbers or more, where some distances within a group differ.
Result<VarianceTest> brown_forsythe(std::span<const std::vector<double>> groups);

}  // namespace stab::stats
