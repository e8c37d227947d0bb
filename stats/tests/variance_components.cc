// SPDX-License-Identifier: MIT
#include "stats/tests/variance_components.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "stats/numbers/distribution.h"
#include "stats/numbers/root.h"
#include "stats/numbers/tails.h"
#include "stats/tests/sample.h"

namespace stab::stats {
namespace {

// The groups' weighted sum of squares, on the scale of single numbers, for a given ratio between /
// within.
using Between = std::function<double(double ratio)>;

struct Sums {
  Between between;
  double between_df = 0;
  double within = 0;  // mean square
  double within_df = 0;
};

// Quantiles of F, and of chi-squared / df between and within groups.
struct Points {
  double f = 0;
  double between = 0;
  double within = 0;
};

std::optional<Points> points_at(const Sums& sums, double share) {
  const auto f = f_quantile(share, sums.between_df, sums.within_df);
  const auto between = chi_squared_quantile(share, sums.between_df);
  const auto within = chi_squared_quantile(share, sums.within_df);
  if (!f || !between || !within || !(*f > 0 && *between > 0 && *within > 0)) return std::nullopt;
  return Points{.f = *f, .between = *between / sums.between_df, .within = *within / sums.within_df};
}

// Returns the ratio between / within at which the mean square of the groups is f times the mean
// square within, or 0 if no such ratio exists.
std::optional<double> ratio_at(const Sums& sums, double f) {
  const double target = f * sums.within * sums.between_df;
  const double most = sums.between(0);
  if (most <= target) return 0;
  const auto excess = [&](double ratio) -> std::optional<double> {
    return sums.between(ratio) - target;
  };
  return find_root_above(excess, 0, most / target);
}

Result<ComponentIntervals> components(const Sums& sums, double alpha) {
  const auto high = points_at(sums, 1 - alpha / 2);
  const auto low = points_at(sums, alpha / 2);
  const auto p =
      f_tail(sums.between(0) / sums.between_df / sums.within, sums.between_df, sums.within_df);
  if (!high || !low || !p)
    return fail("the intervals of the variance components are beyond what can be computed");
  const auto estimate = ratio_at(sums, 1);
  const auto below = ratio_at(sums, high->f);
  const auto above = ratio_at(sums, low->f);
  if (!estimate || !below || !above)
    return fail(
        "the variance between groups is too large to be compared with the variance within groups");
  ComponentIntervals result{
      .between = *estimate * sums.within,
      .between_interval = {*below * sums.within * high->f / high->between,
                           *above * sums.within * low->f / low->between},
      .within = sums.within,
      .within_interval = {sums.within / high->within, sums.within / low->within},
      .share = *estimate / (*estimate + 1),
      .p = *p};
  return result;
}

// The groups' weighted sum of squares about their weighted mean. Weights are inverse variances.
double weighted_ss(const std::vector<Moments>& groups, double ratio) {
  double weights = 0;
  double mean = 0;
  double ss = 0;
  for (const Moments& group : groups) {
    const double n = static_cast<double>(group.n);
    const double weight = n / (1 + n * ratio);
    weights += weight;
    const double distance = group.mean - mean;
    mean += distance * weight / weights;
    ss += weight * distance * (group.mean - mean);
  }
  return ss;
}

Sums sums_of(std::span<const std::vector<Moments>> cells) {
  Sums sums;
  double within = 0;
  for (const std::vector<Moments>& groups : cells) {
    if (!groups.empty()) sums.between_df += static_cast<double>(groups.size() - 1);
    for (const Moments& group : groups) {
      sums.within_df += static_cast<double>(group.n - 1);
      within += group.ss;
    }
  }
  sums.within = within / sums.within_df;
  sums.between = [cells](double ratio) {
    double ss = 0;
    for (const std::vector<Moments>& groups : cells) ss += weighted_ss(groups, ratio);
    return ss;
  };
  return sums;
}

}  // namespace

Result<ComponentIntervals> variance_components(std::span<const std::vector<Moments>> cells,
                                               double alpha) {
  if (const auto usable = require_alpha(alpha); !usable) return std::unexpected(usable.error());
  if (std::ranges::none_of(cells, [](const auto& groups) { return groups.size() > 1; }))
    return fail("variance components need at least two groups");
  bool repeated = false;
  bool any_varies = false;
  for (const std::vector<Moments>& groups : cells)
    for (const Moments& group : groups) {
      if (group.n == 0) return fail("variance components need at least one value in each group");
      if (!std::isfinite(group.mean) || !std::isfinite(group.ss))
        return fail("variance components need finite values");
      repeated = repeated || group.n > 1;
      any_varies = any_varies || varies(group);
    }
  if (!repeated)
    return fail("the variance within groups is not known, because each group has a single value");
  if (!any_varies)
    return fail("the values do not vary within groups, so there is nothing to compare groups with");
  return components(sums_of(cells), alpha);
}

}  // namespace stab::stats
