// SPDX-License-Identifier: MIT
// Intervals of any statistic of one or two samples, by drawing the samples anew from themselves:
// bias-corrected and accelerated (BCa; Efron, JASA 1987).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/error.h"
#include "stats/summary.h"

namespace stab::stats {

struct BootstrapOptions {
  std::uint64_t seed = 0;
  std::size_t draws = 9'999;
};

struct BootstrapInterval {
  double value = 0;
  Interval interval{};
  double bias = 0;  // z0: how far the median of the draws is from the value, in normal units
  double acceleration = 0;  // by the jackknife
};

using OneSampleStatistic = std::function<double(std::span<const double>)>;
using TwoSampleStatistic = std::function<double(std::span<const double>, std::span<const double>)>;

// For samples of 5 numbers or more, a statistic that is finite for every draw, and 200 draws or
// more, enough that the interval's ends do not lie beyond them.
Result<BootstrapInterval> bca(std::span<const double> sample, const OneSampleStatistic& statistic,
                              double alpha, const BootstrapOptions& options);
Result<BootstrapInterval> bca(std::span<const double> a, std::span<const double> b,
                              const TwoSampleStatistic& statistic, double alpha,
                              const BootstrapOptions& options);

// The share-quantile of sorted numbers, between neighbours by proportion ((n + 1) share is a
// position).
double sorted_quantile(std::span<const double> sorted, double share);

}  // namespace stab::stats
