// SPDX-License-Identifier: MIT
// Summaries of columns of numbers: moments, intervals of means, medians, ranks and quantiles.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stab::stats {

// Count, mean and centred sum of squares, updated by each number without cancellation (Welford,
// Technometrics 1962).
struct Moments {
  std::size_t n = 0;
  double mean = 0;
  double ss = 0;  // sum of (x - mean)^2

  void add(double x);
  // The result is the same as if all of the other's numbers had been added (Chan, Golub, LeVeque:
  // Updating formulae, 1979).
  void merge(const Moments& other);

  [[nodiscard]] std::optional<double> variance() const;  // absent below two numbers
};

Moments moments(std::span<const double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

// Student's interval of the mean: mean -+ t(1 - alpha / 2, n - 1) * sd / sqrt(n). Absent for fewer
// than two numbers.
std::optional<Interval> mean_interval(const Moments& moments, double alpha);

// Medians, ranks, and order statistics of numbers and of pairs.

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
