// SPDX-License-Identifier: MIT
// The exact distributions of Wilcoxon's statistics without ties, by counting arrangements. Element
// w of a result is the probability that the statistic is w. The distributions are symmetric.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace stab::stats {

// The statistic is the number of pairs in which the number of the first sample is the larger one
// (Mann and Whitney, 1947), for samples of n and m.
std::vector<double> rank_sum_distribution(std::size_t n, std::size_t m);

// The statistic is the sum of the ranks of the positive ones among n numbers.
std::vector<double> signed_rank_distribution(std::size_t n);

// The two-sided p: twice the smaller tail that contains `w`, at most 1.
double two_sided(std::span<const double> distribution, std::size_t w);

// How many w, from 0 on, have P(W <= w) <= tail.
std::size_t ranks_within(std::span<const double> distribution, double tail);

}  // namespace stab::stats
