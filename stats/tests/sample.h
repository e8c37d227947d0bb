// SPDX-License-Identifier: MIT
// What every test asks of its numbers first. A test that cannot be done says so in a sentence and
// gives no number.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/error.h"
#include "stats/numbers/summary.h"

namespace stab::stats {

// All numbers are finite, and there are `least` of them or more.
Result<void> require_sample(std::span<const double> values, std::size_t least,
                            std::string_view test);

// 0 < alpha < 1.
Result<void> require_alpha(double alpha);

// The spread is more than rounding leaves of equal numbers.
bool varies(const Moments& moments);

}  // namespace stab::stats
