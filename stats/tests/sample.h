// SPDX-License-Identifier: MIT
// Checks the requirements that all tests share. A test that cannot be done fails with a sentence
// that says why, and returns no number.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/error.h"
#include "stats/numbers/summary.h"

namespace stab::stats {

// Fails unless all numbers are finite and there are at least `least` of them.
Result<void> require_sample(std::span<const double> values, std::size_t least,
                            std::string_view test);

// Fails unless 0 < alpha < 1.
Result<void> require_alpha(double alpha);

// Returns whether the numbers vary by more than rounding.
bool varies(const Moments& moments);

}  // namespace stab::stats
