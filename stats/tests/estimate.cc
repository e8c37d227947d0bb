// SPDX-License-Identifier: MIT
#include "stats/tests/estimate.h"

#include <algorithm>
#include <cmath>

#include "stats/numbers/distribution.h"

namespace stab::stats {
namespace {

std::optional<Interval> fieller(const Estimate& estimate, double alpha) {
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
  const double bound = estimate.bound / base;
  return Interval{1 + (b - root) / a - bound, 1 + (b + root) / a + bound};
}

// The one-sided p of "the change is `bound` or farther from 0 on that side".
std::optional<double> one_sided(const Estimate& estimate, double bound, double side) {
  double distance = estimate.difference + side * estimate.bound - bound;
  double variance = estimate.variance;
  if (!estimate.log) {
    distance = estimate.difference + side * estimate.bound - bound * *estimate.base;
    variance += bound * bound * estimate.base_variance - 2 * bound * estimate.base_covariance;
  }
  const bool inside = side * distance < 0;
  if (!(variance > 0)) return inside ? 0 : 1;
  const auto both = t_two_sided(distance / std::sqrt(variance), estimate.df);
  if (!both) return std::nullopt;
  return inside ? *both / 2 : 1 - *both / 2;
}

}  // namespace

std::optional<double> p_value(const Estimate& estimate) {
  if (!estimate.has_error()) return std::nullopt;
  const double distance = std::max(0.0, std::abs(estimate.difference) - estimate.bound);
  if (estimate.variance == 0) return distance == 0 ? 1 : 0;
  return t_two_sided(distance / std::sqrt(estimate.variance), estimate.df);
}

std::optional<Interval> difference_interval(const Estimate& estimate, double alpha) {
  if (!estimate.has_error()) return std::nullopt;
  const auto t = t_upper_quantile(alpha / 2, estimate.df);
  if (!t) return std::nullopt;
  const double half = *t * std::sqrt(estimate.variance) + estimate.bound;
  return Interval{estimate.difference - half, estimate.difference + half};
}

std::optional<double> ratio_of(const Estimate& estimate) {
  if (!estimate.has_ratio()) return std::nullopt;
  const double ratio =
      estimate.log ? std::exp(estimate.difference) : 1 + estimate.difference / *estimate.base;
  return std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

std::optional<Interval> ratio_interval(const Estimate& estimate, double alpha) {
  if (!estimate.has_error() || !estimate.has_ratio()) return std::nullopt;
  auto interval = estimate.log ? difference_interval(estimate, alpha) : fieller(estimate, alpha);
  if (interval && estimate.log)
    interval = Interval{std::exp(interval->low), std::exp(interval->high)};
  if (interval && !(std::isfinite(interval->low) && std::isfinite(interval->high)))
    interval.reset();
  return interval;
}

std::optional<double> p_same(const Estimate& estimate, double margin) {
  if (!estimate.has_error() || !estimate.has_ratio()) return std::nullopt;
  const double high = estimate.log ? std::log1p(margin) : margin;
  const double low = estimate.log ? -high : -margin / (1 + margin);
  const auto above = one_sided(estimate, high, 1);
  const auto below = one_sided(estimate, low, -1);
  return above && below ? std::optional(std::max(*above, *below)) : std::nullopt;
}

}  // namespace stab::stats
