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
  double fraction = 0;  // of the most information that the experiment may collect
  double spent = 0;     // of alpha, up to and including this look
  // The experiment stops if |z| is at least this; absent: it cannot stop.
  std::optional<double> z{};
  double nominal = 0;  // the level of this look alone, P(|Z| >= z), to compare p with
};

// There are at most 1000 fractions, which rise, above 0 and up to 1. A look that could spend less
// than 1e-12 has no boundary and leaves that to the next look.
Result<std::vector<Look>> spend_alpha(std::span<const double> fractions, double alpha);

}  // namespace stab::stats
