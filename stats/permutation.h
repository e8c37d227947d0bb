// SPDX-License-Identifier: MIT
// Permutation test of the difference of two means (Fisher 1935, Pitman 1937): how often would the
// numbers, dealt to the samples at random, give means as far apart?
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"

namespace stab::stats {

struct PermutationOptions {
  std::uint64_t seed = 0;
  std::size_t most_exact = 100'000;  // up to so many arrangements, all are looked at
  std::size_t drawn = 9'999;         // else so many are drawn at random
};

struct PermutationTest {
  double difference = 0;  // b's mean - a's
  double p = 0;           // two-sided; drawn: (those as far apart + 1) / (drawn + 1), never 0
  std::size_t arrangements = 0;  // that were looked at
  bool exact = false;
};

// Under the null hypothesis that both samples are from one distribution, at most a share alpha of
// the tests has p <= alpha, exact or drawn (Phipson and Smyth, 2010). For one number or more in
// each, not all equal.
Result<PermutationTest> permutation_test(std::span<const double> a, std::span<const double> b,
                                         const PermutationOptions& options);

}  // namespace stab::stats
