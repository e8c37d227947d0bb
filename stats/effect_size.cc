// SPDX-License-Identifier: MIT
#include "stats/effect_size.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "stats/estimate.h"
#include "stats/root.h"
#include "stats/sample.h"
#include "stats/student.h"
#include "stats/tails.h"
#include "stats/welch.h"

namespace stab::stats {
namespace {

Result<Moments> log_moments(std::span<const double> values) {
  if (const auto usable = require_sample(values, 2, "a ratio of means"); !usable)
    return std::unexpected(usable.error());
  Moments logs;
  for (const double x : values) {
    if (!(x > 0)) return fail("a ratio of geometric means needs numbers above 0");
    logs.add(std::log(x));
  }
  return logs;
}

// The noncentrality with P(T <= t) = share.
std::optional<double> t_noncentrality(double t, double df, double share) {
  const auto excess = [&](double delta) -> std::optional<double> {
    const auto p = noncentral_t_cdf(t, df, delta);
    return p ? std::optional(*p - share) : std::nullopt;
  };
  const double reach = 10 + 3 * std::abs(t);
  return find_root(excess, t - reach, t + reach);
}

// The noncentrality with P(F <= f) = share; 0 if there is none.
std::optional<double> f_noncentrality(double f, double df1, double df2, double share) {
  const auto excess = [&](double lambda) -> std::optional<double> {
    const auto p = noncentral_f_cdf(f, df1, df2, lambda);
    return p ? std::optional(*p - share) : std::nullopt;
  };
  const auto at_zero = excess(0);
  if (!at_zero) return std::nullopt;
  if (*at_zero <= 0) return 0;
  return find_root_above(excess, 0, f * df1 + df1 + 10);
}

// Of each b[j]: how many of a are below, less how many are above, in shares of a.
std::vector<double> dominances(std::span<const double> b, std::vector<double> a) {
  std::ranges::sort(a);
  std::vector<double> result;
  for (const double x : b) {
    const auto [first, last] = std::ranges::equal_range(a, x);
    const double net = static_cast<double>(first - a.begin()) - static_cast<double>(a.end() - last);
    result.push_back(net / static_cast<double>(a.size()));
  }
  return result;
}

double equal_pairs(std::span<const double> b, std::vector<double> a) {
  std::ranges::sort(a);
  double count = 0;
  for (const double x : b) count += static_cast<double>(std::ranges::equal_range(a, x).size());
  return count;
}

double delta_variance(double delta, double unequal, const Moments& of_b, const Moments& of_a) {
  const double m = static_cast<double>(of_b.n);
  const double n = static_cast<double>(of_a.n);
  const double inside = unequal - n * m * delta * delta;
  const double variance =
      (n * n * of_b.ss + m * m * of_a.ss - inside) / (n * m * (n - 1) * (m - 1));
  return std::max(variance, (1 - delta * delta) / (n * m - 1));
}

}  // namespace

Result<EffectSize> ratio_of_means(std::span<const double> a, std::span<const double> b,
                                  double alpha) {
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  const auto log_a = log_moments(a);
  if (!log_a) return std::unexpected(log_a.error());
  const auto log_b = log_moments(b);
  if (!log_b) return std::unexpected(log_b.error());
  if (!varies(*log_a) && !varies(*log_b))
    return fail("the numbers do not vary within the samples, so the ratio has no interval");
  const Estimate estimate = welch(*log_a, *log_b);
  const auto interval = difference_interval(estimate, alpha);
  if (!interval) return fail("the error of the ratio cannot be computed");
  return EffectSize{.value = std::exp(estimate.difference),
                    .interval = {std::exp(interval->low), std::exp(interval->high)}};
}

Result<EffectSize> hedges_g(const Moments& a, const Moments& b, double alpha) {
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  const auto estimate = student(a, b);
  if (!estimate) return std::unexpected(estimate.error());
  const double t = estimate->difference / std::sqrt(estimate->variance);
  const double df = estimate->df;
  if (df < 2) return fail("Hedges' g needs four numbers or more");
  const auto low = t_noncentrality(t, df, 1 - alpha / 2);
  const auto high = t_noncentrality(t, df, alpha / 2);
  if (!low || !high) return fail("the interval of Hedges' g is beyond what can be computed");
  const double correction =
      std::exp(std::lgamma(df / 2) - std::lgamma((df - 1) / 2)) / std::sqrt(df / 2);
  const double scale =
      correction * std::sqrt(1 / static_cast<double>(a.n) + 1 / static_cast<double>(b.n));
  return EffectSize{.value = t * scale, .interval = {*low * scale, *high * scale}};
}

Result<EffectSize> cliffs_delta(std::span<const double> a, std::span<const double> b,
                                double alpha) {
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  for (const auto& sample : {a, b})
    if (const auto usable = require_sample(sample, 2, "Cliff's delta"); !usable)
      return std::unexpected(usable.error());
  const std::vector<double> in_a(a.begin(), a.end());
  const std::vector<double> in_b(b.begin(), b.end());
  const Moments of_b = moments(dominances(b, in_a));
  const Moments of_a = moments(dominances(a, in_b));
  const double pairs = static_cast<double>(a.size()) * static_cast<double>(b.size());
  const double delta = std::clamp(of_b.mean, -1.0, 1.0);
  const double z = -normal_quantile(alpha / 2).value_or(0);
  if (std::abs(delta) > 1 - 0.5 / pairs) {
    const double k = static_cast<double>(std::min(a.size(), b.size()));
    const double bound = (k - z * z) / (k + z * z);
    const double sign = delta > 0 ? 1.0 : -1.0;
    return EffectSize{.value = sign,
                      .interval = sign > 0 ? Interval{bound, 1} : Interval{-1, -bound}};
  }
  const double unequal = pairs - equal_pairs(b, in_a);
  if (!(unequal > 0)) return fail("numbers that are all equal have no Cliff's delta");
  const double variance = delta_variance(delta, unequal, of_b, of_a);
  const double rest = 1 - delta * delta;
  const double half = z * std::sqrt(variance * (rest * rest + z * z * variance));
  const double scale = rest + z * z * variance;
  return EffectSize{.value = delta,
                    .interval = {std::max(-1.0, (delta * rest - half) / scale),
                                 std::min(1.0, (delta * rest + half) / scale)}};
}

namespace {

// The mean square of what a term is compared with.
Result<double> rest_ms(const TermSums& term) {
  const bool is_finite = std::isfinite(term.ss) && std::isfinite(term.rest_ss);
  if (!is_finite || term.ss < 0 || !(term.df > 0) || !(term.rest_df > 0))
    return fail("the share of a term needs sums of squares with degrees of freedom");
  if (!(term.rest_ss > 0))
    return fail("there is no variation besides the term, so its share has no interval");
  return term.rest_ss / term.rest_df;
}

}  // namespace

Result<EffectSize> eta_squared(const TermSums& term, double alpha) {
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  const auto ms = rest_ms(term);
  if (!ms) return std::unexpected(ms.error());
  const double f = term.ss / term.df / *ms;
  const auto low = f_noncentrality(f, term.df, term.rest_df, 1 - alpha / 2);
  const auto high = f_noncentrality(f, term.df, term.rest_df, alpha / 2);
  if (!low || !high) return fail("the interval of the share is beyond what can be computed");
  const double n = static_cast<double>(term.n);
  return EffectSize{.value = term.ss / (term.ss + term.rest_ss),
                    .interval = {*low / (*low + n), *high / (*high + n)}};
}

Result<double> omega_squared(const TermSums& term) {
  const auto ms = rest_ms(term);
  if (!ms) return std::unexpected(ms.error());
  return std::max(0.0, (term.ss - term.df * *ms) / (term.ss + term.rest_ss + *ms));
}

}  // namespace stab::stats
