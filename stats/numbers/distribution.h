// SPDX-License-Identifier: MIT
// Tails and quantiles of the distributions that tests need, by Boost.Math. They return nothing
// where they are not defined: for degrees of freedom of 0 or below, or numbers that are not finite.
#pragma once

#include <optional>

namespace stab::stats {

// P(X > f) for Fisher's F with df1 and df2 degrees of freedom; f >= 0.
std::optional<double> f_tail(double f, double df1, double df2);

// P(|X| > |t|) for Student's t.
std::optional<double> t_two_sided(double t, double df);

// The x with P(X > x) = tail for Student's t; 0 < tail < 1.
std::optional<double> t_upper_quantile(double tail, double df);

}  // namespace stab::stats
