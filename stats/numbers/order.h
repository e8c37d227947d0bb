// SPDX-License-Identifier: MIT
// Medians, ranks and order statistics of pairs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stab::stats {

// The median of one or more finite numbers.
double median(std::span<const double> values);

// The quantile of sorted numbers at position (n + 1) * share, interpolated between neighbours.
double sorted_quantile(std::span<const double> sorted, double share);

struct Ranks {
  std::vector<double> ranks{};  // by number; 1 is the smallest, equal numbers share the mean
  double ties = 0;              // sum of t^3 - t over sets of t equal numbers
};
Ranks ranks(std::span<const double> values);

// The k-th smallest (from 1) of all differences a[i] - b[j], which are never stored. Both inputs
// are sorted.
double nth_difference(std::span<const double> a, std::span<const double> b, std::uint64_t k);

// The k-th smallest (from 1) of all means of x[i] and x[j] with i <= j (Walsh averages). x is
// sorted.
double nth_walsh_average(std::span<const double> x, std::uint64_t k);

}  // namespace stab::stats
