// SPDX-License-Identifier: MIT
// Distributions that tests, intervals and power need beyond those of distribution.h, by Boost.Math.
// They return nothing where they are not defined, or if the series does not converge.
#pragma once

#include <optional>

namespace stab::stats {

double normal_density(double z);
double normal_cdf(double z);
double normal_tail(double z);
// log(normal_cdf(z)). It is exact to rounding even where the probability underflows.
double log_normal_cdf(double z);
std::optional<double> normal_quantile(double p);  // 0 < p < 1

std::optional<double> t_cdf(double t, double df);
std::optional<double> chi_squared_cdf(double x, double df);
std::optional<double> chi_squared_quantile(double p, double df);
std::optional<double> f_quantile(double p, double df1, double df2);

// P(X <= x) of the noncentral distributions. delta is the mean of the normal variable in the
// numerator; lambda is the sum of the squared means.
std::optional<double> noncentral_t_cdf(double t, double df, double delta);
std::optional<double> noncentral_f_cdf(double f, double df1, double df2, double lambda);

}  // namespace stab::stats
