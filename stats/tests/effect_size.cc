// SPDX-License-Identifier: MIT
#include "stats/tests/effect_size.h"

#include <algorithm>
#include <cmath>

#include "stats/numbers/root.h"
#include "stats/numbers/tails.h"

namespace stab::stats {
namespace {

// Above this, the noncentral F distribution cannot be computed, and the interval is very narrow.
constexpr double largest_noncentrality = 1e6;

// Returns the noncentrality at which P(F <= f) = share, or 0 if no noncentrality has this share.
std::optional<double> noncentrality(double f, double df1, double df2, double share) {
  const auto excess = [&](double lambda) -> std::optional<double> {
    const auto p = noncentral_f_cdf(f, df1, df2, lambda);
    return p ? std::optional(*p - share) : std::nullopt;
  };
  const auto at_zero = excess(0);
  if (!at_zero) return std::nullopt;
  if (*at_zero <= 0) return 0;
  return find_root_above(excess, 0, f * df1 + df1 + 10);
}

}  // namespace

std::optional<Shares> shares(double f, double df1, double df2, double alpha) {
  if (!(f >= 0 && df1 > 0 && df2 > 0) || !std::isfinite(f * df1 + df2)) return std::nullopt;
  const double n = df1 + df2 + 1;
  const double lambda = std::max(0.0, df1 * (f - 1));
  Shares result{.eta2 = f * df1 / (f * df1 + df2), .omega2 = lambda / (lambda + n)};
  if (f * df1 > largest_noncentrality) return result;
  const auto low = noncentrality(f, df1, df2, 1 - alpha);
  const auto high = noncentrality(f, df1, df2, alpha);
  if (low && high) result.interval = {*low / (*low + n), *high / (*high + n)};
  return result;
}

}  // namespace stab::stats
