// SPDX-License-Identifier: MIT
// How much of alpha a test may spend when it looks at the data several times (Lan and DeMets,
// Biometrika 1983).
//
// Two-sided and symmetric: each side spends alpha / 2 by 2 (1 - Phi(z / sqrt(fraction))) with z the
// upper alpha / 4 point, which is close to O'Brien and Fleming's boundaries: hardly anything early,
// nearly a test of fixed size at the end. The boundaries follow from the density of the statistic
// among the experiments that go on, integrated from look to look (Armitage, McPherson and Rowe,
// 1969) by Gauss-Legendre quadrature.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/error.h"

namespace stab::stats {

struct Look {
  double fraction = 0;        // of the most information that the experiment may collect
  double spent = 0;           // of alpha, up to and including this look
  std::optional<double> z{};  // stop if |z| is at least that; absent: no result can stop it here
  double nominal = 0;         // P(|Z| >= z) of a single look: compare p with it; 0: do not
};

// Fractions rise, are above 0 and at most 1; there are at most 1000. A look that could spend less
// than 1e-12 has no boundary, and what it could have spent is left to the next.
Result<std::vector<Look>> spend_alpha(std::span<const double> fractions, double alpha);

}  // namespace stab::stats
