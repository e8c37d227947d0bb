// SPDX-License-Identifier: MIT
// Summaries of one column of numbers.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>

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

struct Summary {
  std::size_t n = 0;
  double mean = 0;
  std::optional<double> sd{};
  std::optional<Interval> interval{};
};

// The summary of finite numbers; nothing if `values` is empty.
std::optional<Summary> summarise(std::span<const double> values, double alpha);

// The geometric mean. Its interval is the interval of the mean logarithm, transformed back; sd is
// the standard deviation of the logarithms. Returns nothing unless all numbers are finite and above
// 0.
std::optional<Summary> summarise_geometric(std::span<const double> values, double alpha);

}  // namespace stab::stats
