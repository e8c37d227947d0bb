// SPDX-License-Identifier: MIT
// Wilcoxon's tests (Biometrics 1945) with the shift that they estimate (Hodges and Lehmann, 1963)
// and its interval, which contains the shifts that the test does not reject.
//
// As in R's wilcox.test, p and interval are exact if the samples have fewer than 50 numbers and no
// ties. Otherwise they use the normal approximation, corrected for ties and continuity. There is no
// interval if even an interval that spans all numbers would miss its level.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "stats/numbers/summary.h"

namespace stab::stats {

// The functions below count arrangements to compute the exact distributions of Wilcoxon's
// statistics without ties. Element w of a result is the probability that the statistic is w. The
// distributions are symmetric.

// The statistic is the number of pairs in which the number of the first sample is the larger one
// (Mann and Whitney, 1947), for samples of n and m.
std::vector<double> rank_sum_distribution(std::size_t n, std::size_t m);

// The statistic is the sum of the ranks of the positive numbers among n numbers.
std::vector<double> signed_rank_distribution(std::size_t n);

// The two-sided p: twice the smaller tail that contains `w`, at most 1.
double two_sided(std::span<const double> distribution, std::size_t w);

// Returns how many w, starting at 0, have P(W <= w) <= tail.
std::size_t ranks_within(std::span<const double> distribution, double tail);

struct RankTest {
  double statistic = 0;
  double p = 0;      // two-sided
  double shift = 0;  // b - a
  std::optional<Interval> interval{};
  bool exact = false;
};

// Compares two samples. The statistic is the number of pairs with b[j] > a[i], plus half the number
// of equal pairs; the shift is the median of all b[j] - a[i]. Neither sample may be empty, and the
// numbers must not all be equal.
Result<RankTest> rank_sum(std::span<const double> a, std::span<const double> b, double alpha);

// Compares pairs. The statistic is the sum of the ranks of positive b[i] - a[i] among the absolute
// differences; pairs without a difference are left out (Wilcoxon). The shift is the median of the
// means of any two differences, or of a difference with itself.
Result<RankTest> signed_rank(std::span<const double> a, std::span<const double> b, double alpha);

}  // namespace stab::stats
