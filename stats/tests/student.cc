// SPDX-License-Identifier: MIT
#include "stats/tests/student.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/tests/sample.h"

namespace stab::stats {

Result<Estimate> student(const Moments& a, const Moments& b) {
  if (a.n < 1 || b.n < 1 || a.n + b.n < 3)
    return fail("a t-test needs at least one value in each sample, and three in all");
  const double n = static_cast<double>(a.n);
  const double m = static_cast<double>(b.n);
  Estimate result{.difference = b.mean - a.mean, .df = n + m - 2, .base = a.mean};
  const double pooled = (a.ss + b.ss) / result.df;
  if (!std::isfinite(pooled) || !std::isfinite(result.difference))
    return fail("a t-test needs finite values, but one of them is not finite");
  result.variance = pooled * (1 / n + 1 / m);
  const double size = std::max(std::abs(a.mean), std::abs(b.mean));
  if (!(std::sqrt(result.variance) > 10 * std::numeric_limits<double>::epsilon() * size))
    return fail("the values do not vary within the samples, so there is no error to test against");
  result.base_variance = pooled / n;
  result.base_covariance = -result.base_variance;
  return result;
}

Result<Estimate> paired(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) return fail("a paired t-test needs samples of the same size");
  for (const auto& sample : {a, b})
    if (const auto usable = require_sample(sample, 2, "a paired t-test"); !usable)
      return std::unexpected(usable.error());
  Moments differences;
  Moments base;
  double covariance = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double before = base.mean;
    differences.add(b[i] - a[i]);
    base.add(a[i]);
    covariance += (a[i] - before) * (b[i] - a[i] - differences.mean);
  }
  const double n = static_cast<double>(a.size());
  const double error = std::sqrt(differences.ss / (n - 1) / n);
  const double size = std::abs(base.mean) + std::abs(differences.mean);
  if (!(error > 10 * std::numeric_limits<double>::epsilon() * size) || !std::isfinite(error))
    return fail("the differences of the pairs do not vary, so there is no error to test against");
  return Estimate{.difference = differences.mean,
                  .variance = error * error,
                  .df = n - 1,
                  .base = base.mean,
                  .base_variance = base.ss / (n - 1) / n,
                  .base_covariance = covariance / (n - 1) / n};
}

}  // namespace stab::stats
