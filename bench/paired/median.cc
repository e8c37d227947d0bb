// SPDX-License-Identifier: MIT
#include "bench/paired/median.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <vector>

namespace stab::bench {
namespace {

double below(std::size_t k, std::size_t n) {
  if (k == 0) return 0;
  return boost::math::cdf(boost::math::binomial(static_cast<double>(n), 0.5),
                          static_cast<double>(k - 1));
}

// 0: none.
std::size_t sign_test_rank(std::size_t n, double alpha) {
  std::size_t k = 0;
  while (k < n / 2 && below(k + 1, n) <= alpha / 2) ++k;
  return k;
}

}  // namespace

std::optional<Median> median(std::span<const double> values, double alpha) {
  std::vector<double> sorted(values.begin(), values.end());
  std::erase_if(sorted, [](double x) { return !std::isfinite(x); });
  if (sorted.empty()) return std::nullopt;
  std::ranges::sort(sorted);
  const std::size_t n = sorted.size();
  Median result;
  result.n = n;
  result.value = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
  if (const std::size_t k = sign_test_rank(n, alpha); k > 0) {
    result.interval = stats::Interval{sorted[k - 1], sorted[n - k]};
    result.coverage = 1 - 2 * below(k, n);
  }
  return result;
}

}  // namespace stab::bench
