// SPDX-License-Identifier: MIT
#include "stats/numbers/distribution.h"

#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/non_central_f.hpp>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <exception>
#include <numbers>

namespace stab::stats {
namespace {

namespace policies = boost::math::policies;
using Policy = policies::policy<policies::domain_error<policies::ignore_error>,
                                policies::pole_error<policies::ignore_error>,
                                policies::overflow_error<policies::ignore_error>,
                                policies::underflow_error<policies::ignore_error>,
                                policies::evaluation_error<policies::ignore_error>>;
using FisherF = boost::math::fisher_f_distribution<double, Policy>;
using StudentsT = boost::math::students_t_distribution<double, Policy>;

std::optional<double> if_finite(double x) {
  return std::isfinite(x) ? std::optional(x) : std::nullopt;
}

bool is_df(double df) {
  return std::isfinite(df) && df > 0;
}

}  // namespace

std::optional<double> f_tail(double f, double df1, double df2) {
  if (!std::isfinite(f) || f < 0 || !is_df(df1) || !is_df(df2)) return std::nullopt;
  return if_finite(boost::math::cdf(boost::math::complement(FisherF(df1, df2), f)));
}

std::optional<double> t_two_sided(double t, double df) {
  if (!std::isfinite(t) || !is_df(df)) return std::nullopt;
  return if_finite(2 * boost::math::cdf(boost::math::complement(StudentsT(df), std::abs(t))));
}

std::optional<double> t_upper_quantile(double tail, double df) {
  if (!(tail > 0 && tail < 1) || !is_df(df)) return std::nullopt;
  return if_finite(boost::math::quantile(boost::math::complement(StudentsT(df), tail)));
}

namespace {

namespace math = boost::math;
using QuietPolicy = policies::policy<
    policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
    policies::overflow_error<policies::ignore_error>,
    policies::underflow_error<policies::ignore_error>,
    policies::evaluation_error<policies::ignore_error>, policies::promote_double<false>>;
// Throws if a series does not converge, which is the only way to notice it.
using SeriesPolicy = policies::policy<
    policies::domain_error<policies::ignore_error>, policies::pole_error<policies::ignore_error>,
    policies::overflow_error<policies::ignore_error>,
    policies::underflow_error<policies::ignore_error>,
    policies::evaluation_error<policies::throw_on_error>, policies::promote_double<false>>;

std::optional<double> finite_or_none(double x) {
  return std::isfinite(x) ? std::optional(x) : std::nullopt;
}

template <class Distribution>
std::optional<double> series_cdf(const Distribution& distribution, double x) {
  try {
    return finite_or_none(math::cdf(distribution, x));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

bool is_degrees(double df) {
  return std::isfinite(df) && df > 0;
}

bool is_share(double p) {
  return p > 0 && p < 1;
}

}  // namespace

double normal_density(double z) {
  return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
}

double normal_cdf(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

double normal_tail(double z) {
  return normal_cdf(-z);
}

double log_normal_cdf(double z) {
  if (z > -30) return std::log(normal_cdf(z));
  const double r = 1 / (z * z);  // Abramowitz and Stegun 26.2.12
  return -z * z / 2 - std::log(-z) - std::log(2 * std::numbers::pi) / 2 +
         std::log1p(-r * (1 - 3 * r * (1 - 5 * r)));
}

std::optional<double> normal_quantile(double p) {
  if (!is_share(p)) return std::nullopt;
  return finite_or_none(math::quantile(math::normal_distribution<double, QuietPolicy>(), p));
}

std::optional<double> chi_squared_cdf(double x, double df) {
  if (!std::isfinite(x) || x < 0 || !is_degrees(df)) return std::nullopt;
  return finite_or_none(math::cdf(math::chi_squared_distribution<double, QuietPolicy>(df), x));
}

std::optional<double> chi_squared_quantile(double p, double df) {
  if (!is_share(p) || !is_degrees(df)) return std::nullopt;
  return finite_or_none(math::quantile(math::chi_squared_distribution<double, QuietPolicy>(df), p));
}

std::optional<double> f_quantile(double p, double df1, double df2) {
  if (!is_share(p) || !is_degrees(df1) || !is_degrees(df2)) return std::nullopt;
  return finite_or_none(
      math::quantile(math::fisher_f_distribution<double, QuietPolicy>(df1, df2), p));
}

std::optional<double> noncentral_t_cdf(double t, double df, double delta) {
  if (!std::isfinite(t) || !is_degrees(df) || !std::isfinite(delta)) return std::nullopt;
  return series_cdf(math::non_central_t_distribution<double, SeriesPolicy>(df, delta), t);
}

std::optional<double> noncentral_f_cdf(double f, double df1, double df2, double lambda) {
  if (!std::isfinite(f) || f < 0 || !is_degrees(df1) || !is_degrees(df2)) return std::nullopt;
  if (!std::isfinite(lambda) || lambda < 0) return std::nullopt;
  if (f == 0) return 0;
  return series_cdf(math::non_central_f_distribution<double, SeriesPolicy>(df1, df2, lambda), f);
}

}  // namespace stab::stats
