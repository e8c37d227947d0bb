// SPDX-License-Identifier: MIT
#include "stats/estimate.h"

#include <algorithm>
#include <cmath>

#include "stats/distribution.h"

namespace stab::stats {

std::optional<double> p_value(const Estimate& estimate) {
  if (!estimate.has_error()) return std::nullopt;
  return t_two_sided(estimate.difference / std::sqrt(estimate.variance), estimate.df);
}

std::optional<Interval> difference_interval(const Estimate& estimate, double alpha) {
  if (!estimate.has_error()) return std::nullopt;
  const auto t = t_upper_quantile(alpha / 2, estimate.df);
  if (!t) return std::nullopt;
  const double half = *t * std::sqrt(estimate.variance);
  return Interval{estimate.difference - half, estimate.difference + half};
}

std::optional<Interval> ratio_interval(const Estimate& estimate, double alpha) {
  if (!estimate.has_error() || !estimate.base || *estimate.base <= 0) return std::nullopt;
  const auto t = t_upper_quantile(alpha / 2, estimate.df);
  if (!t) return std::nullopt;
  // x = ratio - 1 solves (difference - x base)^2 = t^2 var(difference - x base): divided by base^2,
  // a x^2 - 2 b x + c = 0.
  const double base = *estimate.base;
  const double difference = estimate.difference / base;
  const double t2 = *t * *t / base / base;
  const double a = 1 - t2 * estimate.base_variance;
  const double b = difference - t2 * estimate.base_covariance;
  const double c = difference * difference - t2 * estimate.variance;
  if (!(a > 0)) return std::nullopt;
  const double root = std::sqrt(std::max(0.0, b * b - a * c));
  return Interval{1 + (b - root) / a, 1 + (b + root) / a};
}

}  // namespace stab::stats
