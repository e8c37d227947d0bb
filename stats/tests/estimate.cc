// SPDX-License-Identifier: MIT
#include "stats/tests/estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/numbers/distribution.h"
#include "stats/tests/sample.h"

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

// The number of independent numbers that a median's numbers are worth. Subjects are independent of
// each other, because the common influence of blocks is in Estimate::fixed.
double independent_of(const Estimate& estimate) {
  const double n = static_cast<double>(estimate.ordered->size());
  const bool dependent = !(estimate.fixed > 0) && estimate.independent > 0;
  return dependent ? std::min(n, estimate.independent) : n;
}

// The probability that at least `count` of the numbers lie on one side of their median. It is a
// binomial tail, computed by the beta distribution, because counts need not be whole numbers.
double sign_tail(double count, double numbers, double independent) {
  if (!(count > 0)) return 1;
  const double inside = std::min(independent, count * independent / numbers);
  const double outside = independent - inside + 1;
  return f_tail(inside / outside, 2 * outside, 2 * inside).value_or(1);
}

// Returns the end of a median's interval on that side, which is wrong with a probability of
// `one_sided`.
std::optional<double> median_end(const Estimate& estimate, double one_sided, double side) {
  const std::vector<double>& numbers = *estimate.ordered;
  const std::size_t rank = median_rank(numbers.size(), independent_of(estimate), one_sided);
  if (rank == 0) return std::nullopt;
  double end = side > 0 ? numbers[numbers.size() - rank] : numbers[rank - 1];
  if (estimate.fixed > 0) {
    const auto t = t_upper_quantile(one_sided, estimate.df);
    if (!t) return std::nullopt;
    end = estimate.difference +
          side * std::hypot(end - estimate.difference, *t * std::sqrt(estimate.fixed));
  }
  return end + side * estimate.bound;
}

// The one-sided p of "the median is `value` or farther on that side": the level at which the
// interval ends before `value`.
double median_beyond(const Estimate& estimate, double value, double side) {
  const std::vector<double>& numbers = *estimate.ordered;
  if (!(estimate.fixed > 0)) {
    const auto before = [&](double x) { return side * (value - x) > estimate.bound; };
    return sign_tail(static_cast<double>(std::ranges::count_if(numbers, before)),
                     static_cast<double>(numbers.size()), independent_of(estimate));
  }
  const auto rejects = [&](double log_level) {
    const auto end = median_end(estimate, std::exp(log_level), side);
    return end && side * (value - *end) > 0;
  };
  double above = std::log(0.5);
  double below = -700;  // near the logarithm of the smallest doubles
  if (!rejects(above)) return 1;
  for (int i = 0; i < 60 && above - below > 1e-12; ++i) {
    const double middle = (above + below) / 2;
    (rejects(middle) ? above : below) = middle;
  }
  return std::exp(above);
}

std::optional<Interval> median_interval(const Estimate& estimate, double alpha) {
  const auto low = median_end(estimate, alpha / 2, -1);
  const auto high = median_end(estimate, alpha / 2, 1);
  return low && high ? std::optional(Interval{.low = *low, .high = *high}) : std::nullopt;
}

// The one-sided p of "the change is `bound` or farther from 0 on that side".
std::optional<double> one_sided(const Estimate& estimate, double bound, double side) {
  if (estimate.ordered)
    return median_beyond(estimate, estimate.log ? bound : bound * *estimate.base, side);
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
  if (estimate.ordered)
    return std::min(1.0,
                    2 * std::min(median_beyond(estimate, 0, 1), median_beyond(estimate, 0, -1)));
  const double distance = std::max(0.0, std::abs(estimate.difference) - estimate.bound);
  if (estimate.variance == 0) return distance == 0 ? 1 : 0;
  return t_two_sided(distance / std::sqrt(estimate.variance), estimate.df);
}

std::optional<Interval> difference_interval(const Estimate& estimate, double alpha) {
  if (!estimate.has_error()) return std::nullopt;
  if (estimate.ordered) return median_interval(estimate, alpha);
  const auto t = t_upper_quantile(alpha / 2, estimate.df);
  if (!t) return std::nullopt;
  const double half = *t * std::sqrt(estimate.variance) + estimate.bound;
  return Interval{estimate.difference - half, estimate.difference + half};
}

std::size_t median_rank(std::size_t numbers, double independent, double one_sided) {
  const double n = static_cast<double>(numbers);
  const auto holds = [&](std::size_t rank) {
    return sign_tail(n - static_cast<double>(rank) + 1, n, independent) <= one_sided;
  };
  std::size_t low = 0;
  std::size_t high = numbers / 2 + 1;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

std::optional<double> ratio_of(const Estimate& estimate) {
  if (!estimate.has_ratio()) return std::nullopt;
  const double ratio =
      estimate.log ? std::exp(estimate.difference) : 1 + estimate.difference / *estimate.base;
  return std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

std::optional<Interval> ratio_interval(const Estimate& estimate, double alpha) {
  if (!estimate.has_error() || !estimate.has_ratio()) return std::nullopt;
  const bool differences = estimate.log || estimate.ordered;
  auto interval = differences ? difference_interval(estimate, alpha) : fieller(estimate, alpha);
  if (interval && estimate.ordered && !estimate.log)
    interval = Interval{1 + interval->low / *estimate.base, 1 + interval->high / *estimate.base};
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

Result<Estimate> student(const Moments& a, const Moments& b) {
  if (a.n < 1 || b.n < 1 || a.n + b.n < 3)
    return fail("a t-test needs at least three values, with at least one value in each sample");
  const double n = static_cast<double>(a.n);
  const double m = static_cast<double>(b.n);
  Estimate result{.difference = b.mean - a.mean, .df = n + m - 2, .base = a.mean};
  const double pooled = (a.ss + b.ss) / result.df;
  if (!std::isfinite(pooled) || !std::isfinite(result.difference))
    return fail("a t-test needs finite values, but one of them is not finite");
  result.variance = pooled * (1 / n + 1 / m);
  const double size = std::max(std::abs(a.mean), std::abs(b.mean));
  if (!(std::sqrt(result.variance) > 10 * std::numeric_limits<double>::epsilon() * size))
    return fail(
        "the values do not vary within the samples, so there is no variation to test against");
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
    return fail(
        "the differences of the pairs do not vary, so there is no variation to test against");
  return Estimate{.difference = differences.mean,
                  .variance = error * error,
                  .df = n - 1,
                  .base = base.mean,
                  .base_variance = base.ss / (n - 1) / n,
                  .base_covariance = covariance / (n - 1) / n};
}

Result<PaddingStudy> padding_study(std::span<const SeedTrials> seeds, double alpha) {
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  if (seeds.size() < 2) return fail("a padding study needs at least two seeds");
  PaddingStudy study;
  for (const SeedTrials& seed : seeds) {
    for (const auto* arm : {&seed.before, &seed.after}) {
      if (const auto usable = require_sample(*arm, 1, "a padding study"); !usable)
        return std::unexpected(usable.error());
      if (std::ranges::min(*arm) <= 0) return fail("a padding study needs values above 0");
    }
    study.percent.push_back(100 * (moments(seed.after).mean / moments(seed.before).mean - 1));
  }
  const Moments all = moments(study.percent);
  const auto interval = mean_interval(all, alpha);
  if (!varies(all) || !interval)
    return fail(
        "the differences are the same for all seeds, so there is no variation to test against");
  study.mean = all.mean;
  study.interval = *interval;
  const double n = static_cast<double>(all.n);
  const auto p = t_two_sided(all.mean / std::sqrt(all.ss / (n - 1) / n), n - 1);
  if (!p) return fail("the p-value of the padding study is beyond what can be computed");
  study.p = *p;
  return study;
}

}  // namespace stab::stats
