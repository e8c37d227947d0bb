// SPDX-License-Identifier: MIT
// Tukey's honestly significant differences: all pairs of groups at once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/error.h"
#include "stats/summary.h"

namespace stab::stats {

struct PairDifference {
  std::size_t a = 0;
  std::size_t b = 0;      // a < b
  double difference = 0;  // b's mean - a's
  Interval interval{};    // all intervals hold together with probability 1 - alpha
  double p = 0;           // adjusted for all pairs
};

// With an error from elsewhere: the mean square and its degrees of freedom of the model that the
// groups are cells of. Unequal groups: Kramer's form (Biometrics 1956). For two groups or more of
// one number or more; pairs in the order (0,1), (0,2) .. (1,2) ..
Result<std::vector<PairDifference>> tukey_hsd(std::span<const Moments> groups, double ms, double df,
                                              double alpha);

// With the groups' pooled variance.
Result<std::vector<PairDifference>> tukey_hsd(std::span<const Moments> groups, double alpha);

}  // namespace stab::stats
