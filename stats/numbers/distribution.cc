// SPDX-License-Identifier: MIT
#include "stats/numbers/distribution.h"

#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

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

}  // namespace stab::stats
