// SPDX-License-Identifier: MIT
#include "stats/models/welch.h"

#include <array>
#include <utility>
#include <vector>

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

}  // namespace stab::stats
