// SPDX-License-Identifier: MIT
#include "stats/numbers/summary.h"

#include <algorithm>
#include <vector>

#include "stats/numbers/distribution.h"

namespace stab::stats {

void Moments::add(double x) {
  ++n;
  const double delta = x - mean;
  mean += delta / static_cast<double>(n);
  ss += delta * (x - mean);
}

void Moments::merge(const Moments& other) {
  if (other.n == 0) return;
  const double total = static_cast<double>(n + other.n);
  const double share = static_cast<double>(other.n) / total;
  const double delta = other.mean - mean;
  ss += other.ss + delta * delta * static_cast<double>(n) * share;
  mean += delta * share;
  n += other.n;
}

std::optional<double> Moments::variance() const {
  if (n < 2) return std::nullopt;
  return ss / static_cast<double>(n - 1);
}

Moments moments(std::span<const double> values) {
  Moments result;
  for (const double x : values) result.add(x);
  return result;
}

std::optional<Interval> mean_interval(const Moments& moments, double alpha) {
  if (moments.n < 2) return std::nullopt;
  const double n = static_cast<double>(moments.n);
  const auto t = t_upper_quantile(alpha / 2, n - 1);
  if (!t) return std::nullopt;
  const double half = *t * std::sqrt(*moments.variance() / n);
  return Interval{moments.mean - half, moments.mean + half};
}

std::optional<Summary> summarise(std::span<const double> values, double alpha) {
  if (values.empty()) return std::nullopt;
  if (!std::ranges::all_of(values, [](double x) { return std::isfinite(x); })) return std::nullopt;
  const Moments m = moments(values);
  Summary result{.n = m.n, .mean = m.mean, .sd = {}, .interval = mean_interval(m, alpha)};
  if (const auto variance = m.variance()) result.sd = std::sqrt(*variance);
  return result;
}

std::optional<Summary> summarise_geometric(std::span<const double> values, double alpha) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double x : values) {
    if (!(x > 0)) return std::nullopt;
    logs.push_back(std::log(x));
  }
  auto result = summarise(logs, alpha);
  if (!result) return std::nullopt;
  result->mean = std::exp(result->mean);
  if (result->interval)
    result->interval = Interval{std::exp(result->interval->low), std::exp(result->interval->high)};
  return result;
}

}  // namespace stab::stats
