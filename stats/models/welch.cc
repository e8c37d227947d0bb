// SPDX-License-Identifier: MIT
#include "stats/models/welch.h"

#include <array>
#include <utility>
#include <vector>

#include "stats/numbers/distribution.h"

namespace stab::stats {

Estimate welch(std::span<const Moments> cells, const Contrast& contrast) {
  Estimate result;
  double base = 0;
  std::vector<std::pair<double, double>> parts;  // of the variance, with their degrees of freedom
  bool complete = true;                          // every cell has a variance
  for (std::size_t i = 0; i < contrast.weights.size(); ++i) {
    const double weight = contrast.weights[i];
    const double of_base = contrast.base.empty() ? 0 : contrast.base[i];
    if (weight == 0 && of_base == 0) continue;
    result.difference += weight * cells[i].mean;
    base += of_base * cells[i].mean;
    const auto variance = cells[i].variance();
    if (!variance) {
      complete = false;
      continue;
    }
    result.units += cells[i].n;
    const double n = static_cast<double>(cells[i].n);
    const double part = weight * weight * *variance / n;
    result.variance += part;
    result.base_variance += of_base * of_base * *variance / n;
    result.base_covariance += weight * of_base * *variance / n;
    parts.emplace_back(part, n - 1);
  }
  if (!contrast.base.empty()) result.base = base;
  if (complete)
    result.df = satterthwaite(parts);
  else
    result.variance = 0;
  return result;
}

Estimate welch(const Moments& a, const Moments& b) {
  const std::array cells{a, b};
  return welch(cells, {.weights = {-1, 1}, .base = {1, 0}});
}

std::optional<EqualMeans> test_equal(std::span<const Estimate> estimates) {
  double weights = 0;
  double weighted = 0;
  double groups = 0;
  const auto counts = [](const Estimate& each) { return each.has_error() && each.variance > 0; };
  for (const Estimate& each : estimates) {
    if (!counts(each)) continue;
    weights += 1 / each.variance;
    weighted += each.difference / each.variance;
    ++groups;
  }
  if (groups < 2) return std::nullopt;
  const double mean = weighted / weights;
  double between = 0;
  double correction = 0;
  for (const Estimate& each : estimates) {
    if (!counts(each)) continue;
    const double from_mean = each.difference - mean;
    const double rest = 1 - 1 / each.variance / weights;
    between += from_mean * from_mean / each.variance / (groups - 1);
    correction += rest * rest / each.df;
  }
  const double spread = groups * groups - 1;
  EqualMeans result{.f = between / (1 + 2 * (groups - 2) / spread * correction),
                    .df = groups - 1,
                    .error_df = spread / (3 * correction)};
  const auto p = f_tail(result.f, result.df, result.error_df);
  if (!p) return std::nullopt;
  result.p = *p;
  return result;
}

}  // namespace stab::stats
