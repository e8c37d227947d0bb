// SPDX-License-Identifier: MIT
#include "stats/own_error.h"

#include <algorithm>
#include <cmath>

namespace stab::stats {
namespace {

// The weighted sum of a block's cells; `needed` counts those that are still to come.
struct Sum {
  double difference = 0;
  double base = 0;
  std::size_t needed = 0;
};

bool has_weight(const Contrast& contrast, std::size_t i) {
  return contrast.weights[i] != 0 || (!contrast.base.empty() && contrast.base[i] != 0);
}

}  // namespace

UnitNumbers block_numbers(const Subject& subject, const std::vector<Group>& cells,
                          const Contrast& contrast) {
  UnitNumbers result;
  if (contrast.weights.empty()) return result;
  std::size_t needed = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) needed += has_weight(contrast, i) ? 1 : 0;
  const std::vector<Group>& groups = subject.groups;
  for (std::size_t begin = 0; begin < groups.size();) {
    const std::uint32_t block = groups[begin].block;
    Sum sum{.needed = needed};
    for (; begin < groups.size() && groups[begin].block == block; ++begin) {
      const auto cell = static_cast<std::size_t>(
          std::ranges::lower_bound(cells, groups[begin].cell, {}, &Group::cell) - cells.begin());
      if (!has_weight(contrast, cell)) continue;
      --sum.needed;
      sum.difference += contrast.weights[cell] * groups[begin].y.mean;
      if (!contrast.base.empty()) sum.base += contrast.base[cell] * groups[begin].y.mean;
    }
    if (sum.needed > 0) continue;
    result.units.push_back(block);
    result.difference.push_back(sum.difference);
    if (!contrast.base.empty()) result.base.push_back(sum.base);
  }
  return result;
}

UnitNumbers in_common(std::span<const UnitNumbers> all) {
  UnitNumbers result;
  if (all.empty()) return result;
  const double share = 1 / static_cast<double>(all.size());
  std::vector<std::size_t> at(all.size());
  for (const std::uint32_t unit : all.front().units) {
    bool everywhere = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& units = all[i].units;
      while (at[i] < units.size() && units[at[i]] < unit) ++at[i];
      everywhere = everywhere && at[i] < units.size() && units[at[i]] == unit;
    }
    if (!everywhere) continue;
    double difference = 0;
    double base = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      difference += share * all[i].difference[at[i]];
      if (!all[i].base.empty()) base += share * all[i].base[at[i]];
    }
    result.units.push_back(unit);
    result.difference.push_back(difference);
    if (!all.front().base.empty()) result.base.push_back(base);
  }
  return result;
}

Estimate mean_of(const UnitNumbers& numbers, double noise) {
  const Moments difference = moments(numbers.difference);
  const double n = static_cast<double>(difference.n);
  Estimate result{.difference = difference.mean, .units = difference.n};
  if (!numbers.base.empty()) result.base = moments(numbers.base).mean;
  if (difference.n < 2) return result;
  result.df = n - 1;
  if (difference.ss > n * noise) {
    result.variance = difference.ss / (n - 1) / n;
  } else if (difference.mean * difference.mean <= noise) {
    result.difference = 0;
  }
  for (std::size_t i = 0; i < numbers.base.size(); ++i) {
    const double base = numbers.base[i] - *result.base;
    result.base_variance += base * base / (n - 1) / n;
    if (result.variance > 0)
      result.base_covariance += base * (numbers.difference[i] - difference.mean) / (n - 1) / n;
  }
  return result;
}

double satterthwaite(std::span<const std::pair<double, double>> variances) {
  if (variances.empty()) return 0;
  double total = 0;
  double least = variances.front().second;
  for (const auto& [variance, df] : variances) {
    total += variance;
    least = std::min(least, df);
  }
  if (!(total > 0)) return least;
  double squares = 0;  // of shares, so that large and small numbers keep their digits
  for (const auto& [variance, df] : variances)
    squares += variance / total * (variance / total) / df;
  return 1 / squares;
}

Estimate mean_of(std::span<const Estimate> estimates) {
  Estimate result;
  if (estimates.empty()) return result;
  const double share = 1 / static_cast<double>(estimates.size());
  std::vector<std::pair<double, double>> parts;
  double base = 0;
  bool has_error = true;
  bool has_base = true;
  for (const Estimate& each : estimates) {
    const double variance = share * share * each.variance;
    result.difference += share * each.difference;
    result.variance += variance;
    result.base_variance += share * share * each.base_variance;
    result.base_covariance += share * share * each.base_covariance;
    has_error = has_error && each.has_error();
    has_base = has_base && each.base.has_value();
    base += share * each.base.value_or(0);
    parts.emplace_back(variance, each.df);
  }
  if (has_base) result.base = base;
  if (has_error)
    result.df = satterthwaite(parts);
  else
    result.variance = 0;
  return result;
}

}  // namespace stab::stats
