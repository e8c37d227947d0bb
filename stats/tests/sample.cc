// SPDX-License-Identifier: MIT
#include "stats/tests/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace stab::stats {

Result<void> require_sample(std::span<const double> values, std::size_t least,
                            std::string_view test) {
  if (values.size() < least)
    return fail(
        fmt::format("{} needs at least {} values, but there are {}", test, least, values.size()));
  if (!std::ranges::all_of(values, [](double x) { return std::isfinite(x); }))
    return fail(fmt::format("{} needs finite values, but one of them is not finite", test));
  return {};
}

Result<void> require_alpha(double alpha) {
  if (alpha > 0 && alpha < 1) return {};
  return fail(fmt::format("alpha must lie between 0 and 1, but it is {}", alpha));
}

bool varies(const Moments& moments) {
  if (moments.n < 2 || !std::isfinite(moments.ss)) return false;
  const double sd = std::sqrt(moments.ss / static_cast<double>(moments.n));
  return sd > 10 * std::numeric_limits<double>::epsilon() * std::abs(moments.mean);
}

}  // namespace stab::stats
