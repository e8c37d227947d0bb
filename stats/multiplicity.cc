// SPDX-License-Identifier: MIT
#include "stats/multiplicity.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace stab::stats {
namespace {

// Positions of the p-values, smallest first.
Result<std::vector<std::size_t>> ascending(std::span<const double> p) {
  for (const double value : p)
    if (!(value >= 0 && value <= 1)) return fail("p-values to be adjusted must lie in 0 to 1");
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return p[i]; });
  return order;
}

}  // namespace

Result<std::vector<double>> holm(std::span<const double> p) {
  const auto order = ascending(p);
  if (!order) return std::unexpected(order.error());
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    largest = std::max(largest, static_cast<double>(p.size() - i) * p[(*order)[i]]);
    adjusted[(*order)[i]] = std::min(1.0, largest);
  }
  return adjusted;
}

}  // namespace stab::stats
