// SPDX-License-Identifier: MIT
// The range of `groups` normal numbers, divided by an independent estimate of their standard
// deviation with df degrees of freedom. Its double integral (Copenhaver and Holland, Journal of
// Statistical Computation and Simulation 1988) is computed by Gauss-Legendre quadrature, for the
// upper tail, so that small p-values keep their digits.
#pragma once

#include <cstddef>
#include <optional>

namespace stab::stats {

// P(Q > q), for q >= 0, two to 10,000 groups and df >= 0.5; else nothing.
std::optional<double> studentized_range_tail(double q, std::size_t groups, double df);

// The q with P(Q > q) = tail, 0 < tail < 1.
std::optional<double> studentized_range_quantile(double tail, std::size_t groups, double df);

}  // namespace stab::stats
