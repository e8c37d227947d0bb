// SPDX-License-Identifier: MIT
// The exact distributions of Wilcoxon's statistics without ties, by counting arrangements. Element
// w of a result is the probability of the statistic w; the distributions are symmetric.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace stab::stats {

// Of the number of pairs in which the number of the first sample is the larger one (Mann and
// Whitney, 1947), for samples of n and m.
std::vector<double> rank_sum_distribution(std::size_t n, std::size_t m);

// Of the sum of the ranks of positive numbers among n.
std::vector<double> signed_rank_distribution(std::size_t n);

// Two-sided: twice the smaller tail that holds `w`, not above 1.
double two_sided(std::span<const double> distribution, std::size_t w);

// How many w, from 0 on, have P(W <= w) <= tail.
std::size_t ranks_within(std::span<const double> distribution, double tail);

}  // namespace stab::stats
