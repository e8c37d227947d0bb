// SPDX-License-Identifier: MIT
#include "stats/tests/variances.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "stats/numbers/distribution.h"
#include "stats/numbers/root.h"
#include "stats/numbers/summary.h"
#include "stats/tests/sample.h"

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

Result<VarianceTest> brown_forsythe(std::span<const std::vector<double>> groups) {
  constexpr const char* name = "a test of equal variances";
  if (groups.size() < 2) return fail("a test of equal variances needs at least two groups");
  Moments all;
  double within = 0;
  double rounding = 0;
  for (const std::vector<double>& group : groups) {
    if (const auto usable = require_sample(group, 2, name); !usable)
      return std::unexpected(usable.error());
    const double middle = median(group);
    Moments distances;
    for (const double x : group) {
      distances.add(std::abs(x - middle));
      const double error = 4 * std::numeric_limits<double>::epsilon() * std::abs(x);
      rounding += error * error;
    }
    within += distances.ss;
    all.merge(distances);
  }
  if (!std::isfinite(all.ss)) return fail("the values are too large for a test of equal variances");
  if (!(within > rounding))
    return fail(
        "within each group all values are equally far from the median, so there is no "
        "variation to test against");
  VarianceTest test{.df1 = static_cast<double>(groups.size() - 1),
                    .df2 = static_cast<double>(all.n - groups.size())};
  test.f = std::max(0.0, all.ss - within) / test.df1 / (within / test.df2);
  const auto p = f_tail(test.f, test.df1, test.df2);
  if (!p)
    return fail(
        "the F statistic of the test for equal variances is too large or too small to compute");
  test.p = *p;
  return test;
}

namespace {

// The distances of a cell's numbers from their median, divided by the mean distance.
struct Cell {
  CellSpread summary{};
  std::vector<double> distances{};
};

std::optional<Cell> cell_of(std::span<const double> values) {
  if (values.size() < least_for_spread) return std::nullopt;
  if (std::ranges::any_of(values, [](double x) { return !std::isfinite(x); })) return std::nullopt;
  const Moments all = moments(values);
  if (!varies(all)) return std::nullopt;
  Cell cell{.summary = {.n = all.n, .ss = all.ss}};
  const double middle = median(values);
  Moments distances;
  cell.distances.reserve(values.size());
  for (const double x : values) {
    cell.distances.push_back(std::abs(x - middle));
    distances.add(cell.distances.back());
  }
  if (!(distances.mean > 0)) return std::nullopt;
  for (double& distance : cell.distances) distance /= distances.mean;
  const double n = static_cast<double>(values.size());
  cell.summary.log_variance = 2 * std::log(distances.mean * n / (n - 1));
  return cell;
}

// The covariance of two cells' mean distances.
double covariance_of(std::span<const double> a, std::span<const double> b) {
  const double n = static_cast<double>(a.size());
  double products = 0;
  for (std::size_t k = 0; k < a.size(); ++k) products += (a[k] - 1) * (b[k] - 1);
  return products / (n - 1) / n;
}

// The covariances of the cells' mean distances, which are 0 if the cells are independent.
using Matrix = std::vector<std::vector<double>>;

struct Weighted {
  CellSpread cell{};
  double weight = 0;
};

// Student's t of the weighted mean distances when each cell is multiplied by exp(weight * shift).
std::optional<double> statistic(const std::vector<Weighted>& cells, const Matrix& covariances,
                                double shift) {
  std::vector<double> factors;
  for (const Weighted& each : cells) factors.push_back(each.weight * std::exp(each.weight * shift));
  double sum = 0;
  double variance = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    sum += factors[i];
    for (std::size_t j = 0; j < cells.size(); ++j)
      variance += factors[i] * covariances[i][j] * factors[j];
  }
  const double t = sum / std::sqrt(variance);
  return std::isfinite(t) ? std::optional(t) : std::nullopt;
}

std::optional<Spread> compare(const std::vector<Weighted>& cells, const Matrix& covariances,
                              double alpha) {
  if (cells.size() < 2) return std::nullopt;
  constexpr double smallest = 1e-6;  // for smaller values, rounding would show in the error
  double difference = 0;
  double squares = 0;
  std::size_t least = cells.front().cell.n;
  for (const auto& [cell, weight] : cells) {
    difference += weight * cell.log_variance;
    squares += weight * weight;
    least = std::min(least, cell.n);
  }
  // Uses the smallest changes of the cells' scales that make the null hypothesis hold.
  const double seen = std::abs(difference) < smallest ? smallest : difference;
  const auto t = statistic(cells, covariances, seen / (2 * squares));
  if (!t || *t == 0) return std::nullopt;
  const double error = seen / *t;
  const double df = static_cast<double>(least - 1);
  const auto p = t_two_sided(difference / error, df);
  const auto bound = t_upper_quantile(alpha / 2, df);
  if (!p || !bound) return std::nullopt;
  const Spread result{.ratio = std::exp(difference),
                      .low = std::exp(difference - *bound * error),
                      .high = std::exp(difference + *bound * error),
                      .p = *p};
  return std::isfinite(result.high) ? std::optional(result) : std::nullopt;
}

}  // namespace

std::optional<Spread> spread_within_blocks(std::span<const std::vector<double>> cells,
                                           std::span<const double> weights, double alpha) {
  if (cells.size() < weights.size()) return std::nullopt;
  std::vector<Weighted> compared;
  std::vector<std::vector<double>> distances;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    auto cell = cell_of(cells[i]);
    if (!cell) return std::nullopt;
    compared.push_back({.cell = cell->summary, .weight = weights[i]});
    distances.push_back(std::move(cell->distances));
  }
  Matrix covariances(compared.size(), std::vector<double>(compared.size()));
  for (std::size_t i = 0; i < compared.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j)
      covariances[i][j] = covariances[j][i] = covariance_of(distances[i], distances[j]);
  return compare(compared, covariances, alpha);
}

std::optional<CellSpread> cell_spread(std::span<const double> values) {
  auto cell = cell_of(values);
  if (!cell) return std::nullopt;
  cell->summary.error = covariance_of(cell->distances, cell->distances);
  return cell->summary;
}

std::optional<Spread> spread_between_cells(std::span<const std::optional<CellSpread>> cells,
                                           std::span<const double> weights, double alpha) {
  std::vector<Weighted> compared;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    if (!cells[i]) return std::nullopt;
    compared.push_back({.cell = *cells[i], .weight = weights[i]});
  }
  Matrix covariances(compared.size(), std::vector<double>(compared.size()));
  for (std::size_t i = 0; i < compared.size(); ++i) covariances[i][i] = compared[i].cell.error;
  return compare(compared, covariances, alpha);
}

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
    return fail(
        "the values do not vary within groups, so differences between groups can't be tested");
  return components(sums_of(cells), alpha);
}

}  // namespace stab::stats
