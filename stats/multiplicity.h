// SPDX-License-Identifier: MIT
// Several tests at once: p-values that may be compared with alpha as if each were the only one.
#pragma once

#include <span>
#include <vector>

#include "base/error.h"

namespace stab::stats {

// Controls the probability of any false rejection, whatever the tests' dependence (Holm, 1979).
// Fails if a p is not in [0, 1]; none in, none out.
Result<std::vector<double>> holm(std::span<const double> p);

}  // namespace stab::stats
