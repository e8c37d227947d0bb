// SPDX-License-Identifier: MIT
// Tails, quantiles and densities of the distributions that tests, intervals and power need, by
// Boost.Math. An optional result is absent where the function is not defined (for degrees of
// freedom of 0 or below, or numbers that are not finite), and if a series does not converge.
#pragma once

#include <optional>

namespace stab::stats {

// P(X > f) for Fisher's F with df1 and df2 degrees of freedom; f >= 0.
std::optional<double> f_tail(double f, double df1, double df2);

// P(|X| > |t|) for Student's t.
std::optional<double> t_two_sided(double t, double df);

// The x with P(X > x) = tail for Student's t; 0 < tail < 1.
std::optional<double> t_upper_quantile(double tail, double df);

double normal_density(double z);
double normal_cdf(double z);
double normal_tail(double z);
// log(normal_cdf(z)). It is exact to rounding even where the probability underflows.
double log_normal_cdf(double z);
std::optional<double> normal_quantile(double p);  // 0 < p < 1

std::optional<double> chi_squared_cdf(double x, double df);
std::optional<double> chi_squared_quantile(double p, double df);
std::optional<double> f_quantile(double p, double df1, double df2);

// P(X <= x) of the noncentral distributions. delta is the mean of the normal variable in the
// numerator; lambda is the sum of the squared means.
std::optional<double> noncentral_t_cdf(double t, double df, double delta);
std::optional<double> noncentral_f_cdf(double f, double df1, double df2, double lambda);

}  // namespace stab::stats
