// SPDX-License-Identifier: MIT
#include "stats/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/random.h"
#include "stats/sample.h"
#include "stats/tails.h"

namespace stab::stats {
namespace {

using Samples = std::vector<std::vector<double>>;
using Statistic = std::function<double(const Samples&)>;

std::vector<double> draw(std::span<const double> sample, Random& random) {
  std::vector<double> result(sample.size());
  for (double& x : result) x = sample[random.below(sample.size())];
  return result;
}

std::vector<double> draws_of(const Samples& samples, const Statistic& statistic,
                             const BootstrapOptions& options) {
  Random random(options.seed);
  std::vector<double> values(options.draws);
  Samples drawn(samples.size());
  for (double& value : values) {
    for (std::size_t s = 0; s < samples.size(); ++s) drawn[s] = draw(samples[s], random);
    value = statistic(drawn);
  }
  return values;
}

// The skewness of the statistic over six, from what each number contributes to it (Efron and
// Tibshirani: An introduction to the bootstrap, 1993, 14.15; several samples: each by its size).
double acceleration_of(const Samples& samples, const Statistic& statistic) {
  double squares = 0;
  double cubes = 0;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    std::vector<double> without(samples[s].size());
    for (std::size_t i = 0; i < without.size(); ++i) {
      Samples rest = samples;
      rest[s].erase(rest[s].begin() + static_cast<std::ptrdiff_t>(i));
      without[i] = statistic(rest);
    }
    const double mean = moments(without).mean;
    const double n = static_cast<double>(without.size());
    for (const double value : without) {
      const double influence = (n - 1) / n * (mean - value);
      squares += influence * influence;
      cubes += influence * influence * influence;
    }
  }
  return squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
}

std::optional<double> bias_of(std::span<const double> sorted, double value) {
  const auto [first, last] = std::ranges::equal_range(sorted, value);
  const double below = static_cast<double>(first - sorted.begin());
  const double equal = static_cast<double>(last - first);
  return normal_quantile((below + equal / 2) / static_cast<double>(sorted.size()));
}

Result<BootstrapInterval> interval_of(const Samples& samples, const Statistic& statistic,
                                      double alpha, const BootstrapOptions& options) {
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  if (options.draws < 200) return fail("a bootstrap needs 200 draws or more");
  for (const auto& sample : samples)
    if (const auto usable = require_sample(sample, 5, "a bootstrap"); !usable)
      return std::unexpected(usable.error());
  BootstrapInterval result{.value = statistic(samples)};
  std::vector<double> values = draws_of(samples, statistic, options);
  result.acceleration = acceleration_of(samples, statistic);
  const auto is_finite = [](double x) { return std::isfinite(x); };
  if (!is_finite(result.value) || !is_finite(result.acceleration) ||
      !std::ranges::all_of(values, is_finite))
    return fail("the statistic is not finite for every draw, so it has no bootstrap interval");
  std::ranges::sort(values);
  if (values.front() == values.back())
    return fail("the statistic is the same for every draw, so it has no bootstrap interval");
  const auto bias = bias_of(values, result.value);
  if (!bias)
    return fail("the statistic lies outside of all draws, so it has no bootstrap interval");
  result.bias = *bias;
  double ends[2];
  for (const int side : {0, 1}) {
    const double z = *bias + normal_quantile(side == 0 ? alpha / 2 : 1 - alpha / 2).value_or(0);
    const double scale = 1 - result.acceleration * z;
    if (!(scale > 0)) return fail("the statistic is too skewed for a bootstrap interval");
    const double share = normal_cdf(*bias + z / scale);
    const double position = share * (static_cast<double>(values.size()) + 1);
    if (!(position >= 1 && position <= static_cast<double>(values.size())))
      return fail("the bootstrap interval ends beyond all draws; it needs more of them");
    ends[side] = sorted_quantile(values, share);
  }
  result.interval = {ends[0], ends[1]};
  return result;
}

std::vector<double> copy(std::span<const double> sample) {
  return {sample.begin(), sample.end()};
}

}  // namespace

Result<BootstrapInterval> bca(std::span<const double> sample, const OneSampleStatistic& statistic,
                              double alpha, const BootstrapOptions& options) {
  const auto of = [&](const Samples& s) { return statistic(s[0]); };
  return interval_of({copy(sample)}, of, alpha, options);
}

Result<BootstrapInterval> bca(std::span<const double> a, std::span<const double> b,
                              const TwoSampleStatistic& statistic, double alpha,
                              const BootstrapOptions& options) {
  const auto of = [&](const Samples& s) { return statistic(s[0], s[1]); };
  return interval_of({copy(a), copy(b)}, of, alpha, options);
}

double sorted_quantile(std::span<const double> sorted, double share) {
  const double last = static_cast<double>(sorted.size());
  const double position = std::clamp(share * (last + 1), 1.0, last);
  const double below = std::floor(position);
  const std::size_t i = static_cast<std::size_t>(below) - 1;
  if (i + 1 >= sorted.size()) return sorted.back();
  return sorted[i] + (position - below) * (sorted[i + 1] - sorted[i]);
}

}  // namespace stab::stats
