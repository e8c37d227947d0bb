// SPDX-License-Identifier: MIT
#include "stats/planning/repeated.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "stats/numbers/root.h"
#include "stats/numbers/tails.h"
#include "stats/planning/alpha_spending.h"

namespace stab::stats {
namespace {

// Levels are searched as normal quantiles of alpha / 2, on which boundaries depend nearly linearly.
constexpr double nearest = 0.01;
constexpr double farthest = 7.5;
constexpr double no_boundary = 40;  // beyond every p

double alpha_of(double quantile) {
  return 2 * normal_tail(quantile);
}

}  // namespace

Result<Repeated> Repeated::at(const Looks& looks) {
  if (looks.planned.empty() || looks.blocks < 2)
    return fail("a sequential analysis needs looks and at least two blocks of data");
  const double most = static_cast<double>(std::max(looks.planned.back(), looks.blocks));
  std::vector<double> fractions;
  for (const std::size_t blocks : looks.planned)
    if (blocks < looks.blocks) fractions.push_back(static_cast<double>(blocks) / most);
  fractions.push_back(static_cast<double>(looks.blocks) / most);
  if (const auto usable = spend_alpha(fractions, 0.05); !usable)
    return std::unexpected(usable.error());
  return Repeated(std::move(fractions));
}

double Repeated::level(double alpha) const {
  const auto looks = spend_alpha(fractions_, alpha);
  return looks ? looks->back().nominal : 0;
}

double Repeated::p(double p) const {
  if (fractions_.size() == 1 && fractions_.front() == 1) return p;
  const double observed = p < 1 ? -normal_quantile(p / 2).value_or(-no_boundary) : 0;
  const auto excess = [&](double quantile) -> std::optional<double> {
    const auto looks = spend_alpha(fractions_, alpha_of(quantile));
    return (looks ? looks->back().z.value_or(no_boundary) : no_boundary) - observed;
  };
  if (*excess(nearest) > 0) return 1;
  if (*excess(farthest) < 0) return alpha_of(farthest);
  const auto quantile = find_root(excess, nearest, farthest);
  return quantile ? std::max(p, alpha_of(*quantile)) : 1;
}

double Repeated::one_sided_p(double p) const {
  return p < 0.5 ? this->p(2 * p) / 2 : p;
}

}  // namespace stab::stats
