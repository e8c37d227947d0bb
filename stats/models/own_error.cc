// SPDX-License-Identifier: MIT
#include "stats/models/own_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "stats/numbers/distribution.h"

namespace stab::stats {
namespace {

// The weighted sum of a block's cells; `needed` counts the cells that are still to come.
struct Sum {
  double difference = 0;
  double base = 0;
  std::size_t needed = 0;
};

// The least degrees of freedom of a few units that depend on each other strongly. With fewer, no
// change could be large enough.
constexpr double least_df = 3;

bool has_weight(const Contrast& contrast, std::size_t i) {
  return contrast.weights[i] != 0 || (!contrast.base.empty() && contrast.base[i] != 0);
}

}  // namespace

UnitNumbers block_numbers(const Subject& subject, const std::vector<Group>& cells,
                          const Contrast& contrast) {
  UnitNumbers result;
  if (contrast.weights.empty()) return result;
  std::vector<std::size_t> used;  // the cells with a weight, which may be few
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (has_weight(contrast, i)) used.push_back(i);
  const auto number_of = [&](std::size_t i) { return cells[i].cell; };
  const std::vector<Group>& groups = subject.groups;
  for (std::size_t begin = 0; begin < groups.size();) {
    const std::uint32_t block = groups[begin].block;
    Sum sum{.needed = used.size()};
    for (; begin < groups.size() && groups[begin].block == block; ++begin) {
      const auto found = std::ranges::lower_bound(used, groups[begin].cell, {}, number_of);
      if (found == used.end() || number_of(*found) != groups[begin].cell) continue;
      const std::size_t cell = *found;
      --sum.needed;
      sum.difference += contrast.weights[cell] * groups[begin].y.mean;
      if (!contrast.base.empty()) sum.base += contrast.base[cell] * groups[begin].y.mean;
    }
    if (sum.needed > 0) continue;
    result.units.push_back(block);
    result.difference.push_back(sum.difference);
    if (!contrast.base.empty()) result.base.push_back(sum.base);
  }
  return result;
}

std::vector<UnitNumbers> in_common(std::span<const UnitNumbers> all) {
  std::vector<UnitNumbers> result(all.size());
  if (all.empty()) return result;
  std::vector<std::size_t> at(all.size());
  for (const std::uint32_t unit : all.front().units) {
    bool everywhere = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto& units = all[i].units;
      while (at[i] < units.size() && units[at[i]] < unit) ++at[i];
      everywhere = everywhere && at[i] < units.size() && units[at[i]] == unit;
    }
    for (std::size_t i = 0; everywhere && i < all.size(); ++i) {
      result[i].units.push_back(unit);
      result[i].difference.push_back(all[i].difference[at[i]]);
      if (!all[i].base.empty()) result[i].base.push_back(all[i].base[at[i]]);
    }
  }
  return result;
}

bool are_disjoint(std::span<const UnitNumbers> all) {
  std::set<std::uint32_t> seen;
  for (const UnitNumbers& one : all)
    for (const std::uint32_t unit : one.units)
      if (!seen.insert(unit).second) return false;
  return true;
}

UnitNumbers averaged(std::span<const UnitNumbers> all) {
  if (all.empty()) return {};
  UnitNumbers result{.units = all.front().units};
  result.difference.resize(result.units.size());
  result.base.resize(all.front().base.size());
  const double share = 1 / static_cast<double>(all.size());
  for (const UnitNumbers& one : all) {
    for (std::size_t i = 0; i < result.difference.size(); ++i)
      result.difference[i] += share * one.difference[i];
    for (std::size_t i = 0; i < result.base.size(); ++i) result.base[i] += share * one.base[i];
  }
  return result;
}

namespace {

// Mean products of two tables with a row for each subject and a column for each unit: of rows, of
// columns, and of the residuals of both.
struct MeanProducts {
  double rows = 0;
  double columns = 0;
  double rest = 0;
};

double mean(std::span<const double> values) {
  return moments(values).mean;
}

using Table = std::vector<std::span<const double>>;

MeanProducts mean_products(const Table& a, const Table& b) {
  const double k = static_cast<double>(a.size());
  const double n = static_cast<double>(a.front().size());
  const auto means = [&](const Table& table) {
    std::vector<double> result;
    for (const auto row : table) result.push_back(mean(row));
    return result;
  };
  const auto columns = [&](const Table& table) {
    std::vector<double> result(table.front().size());
    for (const auto row : table)
      for (std::size_t j = 0; j < row.size(); ++j) result[j] += row[j] / k;
    return result;
  };
  const std::vector<double> row_a = means(a);
  const std::vector<double> row_b = means(b);
  const std::vector<double> column_a = columns(a);
  const std::vector<double> column_b = columns(b);
  const double all_a = mean(row_a);
  const double all_b = mean(row_b);
  MeanProducts result;
  for (std::size_t i = 0; i < a.size(); ++i)
    result.rows += n * (row_a[i] - all_a) * (row_b[i] - all_b) / (k - 1);
  for (std::size_t j = 0; j < column_a.size(); ++j)
    result.columns += k * (column_a[j] - all_a) * (column_b[j] - all_b) / (n - 1);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < column_a.size(); ++j)
      result.rest += (a[i][j] - row_a[i] - column_a[j] + all_a) *
                     (b[i][j] - row_b[i] - column_b[j] + all_b) / ((k - 1) * (n - 1));
  return result;
}

}  // namespace

Estimate crossed_mean_of(std::span<const UnitNumbers> all, double noise,
                         const std::optional<Estimate>& over_time) {
  Table difference;
  Table base;
  for (const UnitNumbers& one : all) {
    difference.emplace_back(one.difference);
    if (!one.base.empty()) base.emplace_back(one.base);
  }
  const double k = static_cast<double>(difference.size());
  const double n = static_cast<double>(difference.front().size());
  MeanProducts squares = mean_products(difference, difference);
  if (!(squares.rows > noise)) squares.rows = squares.rest;  // its expectation is not smaller
  const bool dependent = over_time && over_time->independent > 0;
  const double inflation = dependent ? n / over_time->independent : 1;
  const double columns_df = dependent ? std::max(least_df, over_time->independent - 1) : n - 1;
  squares.columns *= inflation;
  const bool blocks_act = squares.columns > squares.rest;
  const auto part = [&](const MeanProducts& of) {
    return (of.rows + (blocks_act ? of.columns - of.rest : 0)) / (k * n);
  };
  const UnitNumbers means = averaged(all);
  Estimate result{.difference = mean(means.difference)};
  result.df = std::min(k, n) - 1;
  if (!base.empty()) {
    result.base = mean(means.base);
    MeanProducts bases = mean_products(base, base);
    bases.columns *= inflation;
    result.base_variance = part(bases);
  }
  if (!(squares.rows + squares.columns + squares.rest > noise)) {
    if (k * n < static_cast<double>(least_exact)) result.df = 0;
    if (result.difference * result.difference <= noise) result.difference = 0;
    return result;
  }
  result.variance = part(squares);
  if (!base.empty()) {
    MeanProducts both = mean_products(base, difference);
    both.columns *= inflation;
    result.base_covariance = part(both);
  }
  const double total = result.variance * k * n;
  const auto share = [&](double square, double df) {
    return square / total * (square / total) / df;
  };
  double inverse = share(squares.rows, k - 1);
  if (blocks_act)
    inverse += share(squares.columns, columns_df) + share(squares.rest, (k - 1) * (n - 1));
  result.units = all.size();
  result.fixed = blocks_act ? (squares.columns - squares.rest) / (k * n) : 0;
  result.df = std::max(1 / inverse, std::min(k - 1, columns_df));
  if (dependent && blocks_act) {
    result.autocorrelation = over_time->autocorrelation;
    result.independent = over_time->independent;
    result.in_time = over_time->in_time;
  }
  return result;
}

Estimate mean_of(const UnitNumbers& numbers, double noise) {
  const Moments difference = moments(numbers.difference);
  const double n = static_cast<double>(difference.n);
  Estimate result{.difference = difference.mean, .units = difference.n};
  if (!numbers.base.empty()) result.base = moments(numbers.base).mean;
  if (difference.n < 2) return result;
  result.df = n - 1;
  if (difference.ss > n * noise) {
    result.variance = difference.ss / (n - 1) / n;
  } else if (difference.n < least_exact) {
    result.df = 0;
    return result;
  } else if (difference.mean * difference.mean <= noise) {
    result.difference = 0;
  }
  for (std::size_t i = 0; i < numbers.base.size(); ++i) {
    const double base = numbers.base[i] - *result.base;
    result.base_variance += base * base / (n - 1) / n;
    if (result.variance > 0)
      result.base_covariance += base * (numbers.difference[i] - difference.mean) / (n - 1) / n;
  }
  return result;
}

namespace {

// n times the variance of the mean of n numbers from a first-order autoregressive series with
// variance 1.
double mean_variance(double correlation, std::size_t n) {
  double sum = 1;
  double power = 1;
  for (std::size_t lag = 1; lag < n; ++lag) {
    power *= correlation;
    if (power < 1e-12) break;
    sum += 2 * power * (1 - static_cast<double>(lag) / static_cast<double>(n));
  }
  return sum;
}

}  // namespace

Estimate mean_over_time(const UnitNumbers& numbers, std::span<const std::uint32_t> rank,
                        double noise) {
  Estimate result = mean_of(numbers, noise);
  const std::size_t units = numbers.units.size();
  if (units < least_for_dependence || !(result.variance > 0)) return result;
  std::vector<std::size_t> order(units);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!rank.empty())
    std::ranges::sort(order, {}, [&](std::size_t i) { return rank[numbers.units[i]]; });
  double squares = 0;
  double products = 0;
  double last = 0;
  for (const std::size_t i : order) {
    const double distance = numbers.difference[i] - result.difference;
    squares += distance * distance;
    products += distance * last;
    last = distance;
  }
  const double n = static_cast<double>(units);
  // For n independent numbers, r is -1 / n on average, and it falls short of a correlation c by
  // another 3 c / n (Marriott and Pope, Biometrika 1954; Kendall, ibid.). An estimate that is too
  // small costs more than one that is too large, so it is raised by a quarter of its standard
  // error.
  constexpr double most = 0.9;
  constexpr double raised = 0.25;
  const double correlation =
      std::clamp((n * products / squares + 1) / (n - 3) + raised / std::sqrt(n), 0.0, most);
  const double inflation = mean_variance(correlation, units);
  // Correlated numbers also lie closer to their own mean than to the true mean.
  const double factor = inflation / std::max(0.05, 1 - (inflation - 1) / (n - 1));
  result.autocorrelation = correlation;
  result.in_time = units;
  result.independent = n / inflation;
  result.variance *= factor;
  result.base_variance *= factor;
  result.base_covariance *= factor;
  result.df = std::max(least_df, result.independent - 1);
  return result;
}

std::optional<Estimate> trimmed_mean_of(const UnitNumbers& numbers, const Estimate& mean,
                                        double noise) {
  std::vector<double> sorted = numbers.difference;
  const std::size_t units = sorted.size();
  if (units < least_exact || !mean.has_error()) return std::nullopt;
  std::ranges::sort(sorted);
  const auto cut = static_cast<std::size_t>(trimmed_share * static_cast<double>(units));
  const Moments kept = moments(std::span(sorted).subspan(cut, units - 2 * cut));
  for (std::size_t i = 0; i < cut; ++i) {
    sorted[i] = sorted[cut];
    sorted[units - 1 - i] = sorted[units - 1 - cut];
  }
  const double n = static_cast<double>(units);
  const double h = static_cast<double>(kept.n);
  const Moments winsorized = moments(sorted);
  Estimate result = mean;
  result.difference = kept.mean;
  result.df = h - 1;
  result.variance = winsorized.ss > n * noise ? winsorized.ss / (h * (h - 1)) : 0;
  result.base_variance = 0;
  result.base_covariance = 0;
  if (mean.fixed > 0) {  // subjects: the common influence of blocks does not average out
    result.variance += mean.fixed;
    result.df = std::max(1.0, std::min(result.df, mean.df));
  } else if (mean.independent > 0 && mean.independent < n) {
    result.variance *= n / mean.independent;
    result.df = std::max(1.0, std::min(result.df, mean.independent * h / n - 1));
  }
  return result;
}

std::optional<Estimate> median_of(const UnitNumbers& numbers, const Estimate& mean, double noise) {
  const std::size_t units = numbers.difference.size();
  if (units < least_for_median || !mean.has_error()) return std::nullopt;
  auto sorted = std::make_shared<std::vector<double>>(numbers.difference);
  for (double& each : *sorted)
    if (each * each <= noise) each = 0;  // rounding alone has no sign
  std::ranges::sort(*sorted);
  const std::vector<double>& all = *sorted;
  const double range = all.back() - all.front();
  if (!(mean.variance > 0) && !(range * range > noise)) return mean;  // all numbers are equal
  const double n = static_cast<double>(units);
  const bool subjects = mean.fixed > 0;
  const bool dependent = !subjects && mean.independent > 0 && mean.independent < n;
  const double independent = dependent ? mean.independent : n;
  Estimate result = mean;
  result.difference = units % 2 == 1 ? all[units / 2] : (all[units / 2 - 1] + all[units / 2]) / 2;
  result.base_variance = 0;
  result.base_covariance = 0;
  if (!subjects) result.df = std::max(1.0, independent - 1);
  // The error that the interval implies (McKean and Schrader, 1984).
  constexpr double one_sided = 0.025;
  constexpr double quantile = 1.96;
  if (const std::size_t rank = median_rank(units, independent, one_sided); rank > 0) {
    const double error = (all[units - rank] - all[rank - 1]) / 2 / quantile;
    result.variance = error * error + mean.fixed;
  }
  result.ordered = std::move(sorted);
  return result;
}

bool too_few_independent(const Estimate& estimate) {
  constexpr double enough = 10;
  constexpr double share = 3;  // few units count as too few only if they depend strongly
  return estimate.independent > 0 &&
         estimate.independent < std::min(enough, static_cast<double>(estimate.in_time) / share);
}

double satterthwaite(std::span<const std::pair<double, double>> variances) {
  if (variances.empty()) return 0;
  double total = 0;
  double least = variances.front().second;
  for (const auto& [variance, df] : variances) {
    total += variance;
    least = std::min(least, df);
  }
  if (!(total > 0)) return least;
  double squares = 0;  // squares of shares, so that large and small numbers keep their digits
  for (const auto& [variance, df] : variances)
    squares += variance / total * (variance / total) / df;
  return 1 / squares;
}

Estimate mean_of(std::span<const Estimate> estimates) {
  Estimate result;
  if (estimates.empty()) return result;
  const double share = 1 / static_cast<double>(estimates.size());
  std::vector<std::pair<double, double>> parts;
  double base = 0;
  bool has_error = true;
  bool has_base = true;
  for (const Estimate& each : estimates) {
    const double variance = share * share * each.variance;
    result.units += each.units;
    result.difference += share * each.difference;
    result.variance += variance;
    result.base_variance += share * share * each.base_variance;
    result.base_covariance += share * share * each.base_covariance;
    has_error = has_error && each.has_error();
    has_base = has_base && each.base.has_value();
    base += share * each.base.value_or(0);
    parts.emplace_back(variance, each.df);
  }
  if (has_base) result.base = base;
  if (has_error)
    result.df = satterthwaite(parts);
  else
    result.variance = 0;
  return result;
}

Estimate welch(std::span<const Moments> cells, const Contrast& contrast) {
  Estimate result;
  double base = 0;
  std::vector<std::pair<double, double>> parts;  // of the variance, with their degrees of freedom
  bool complete = true;                          // every cell has a variance
  for (std::size_t i = 0; i < contrast.weights.size(); ++i) {
    const double weight = contrast.weights[i];
    const double of_base = contrast.base.empty() ? 0 : contrast.base[i];
    if (weight == 0 && of_base == 0) continue;
    result.difference += weight * cells[i].mean;
    base += of_base * cells[i].mean;
    const auto variance = cells[i].variance();
    if (!variance) {
      complete = false;
      continue;
    }
    result.units += cells[i].n;
    const double n = static_cast<double>(cells[i].n);
    const double part = weight * weight * *variance / n;
    result.variance += part;
    result.base_variance += of_base * of_base * *variance / n;
    result.base_covariance += weight * of_base * *variance / n;
    parts.emplace_back(part, n - 1);
  }
  if (!contrast.base.empty()) result.base = base;
  if (complete)
    result.df = satterthwaite(parts);
  else
    result.variance = 0;
  return result;
}

Estimate welch(const Moments& a, const Moments& b) {
  const std::array cells{a, b};
  return welch(cells, {.weights = {-1, 1}, .base = {1, 0}});
}

std::optional<EqualMeans> test_equal(std::span<const Estimate> estimates) {
  double weights = 0;
  double weighted = 0;
  double groups = 0;
  const auto counts = [](const Estimate& each) { return each.has_error() && each.variance > 0; };
  for (const Estimate& each : estimates) {
    if (!counts(each)) continue;
    weights += 1 / each.variance;
    weighted += each.difference / each.variance;
    ++groups;
  }
  if (groups < 2) return std::nullopt;
  const double mean = weighted / weights;
  double between = 0;
  double correction = 0;
  for (const Estimate& each : estimates) {
    if (!counts(each)) continue;
    const double from_mean = each.difference - mean;
    const double rest = 1 - 1 / each.variance / weights;
    between += from_mean * from_mean / each.variance / (groups - 1);
    correction += rest * rest / each.df;
  }
  const double spread = groups * groups - 1;
  EqualMeans result{.f = between / (1 + 2 * (groups - 2) / spread * correction),
                    .df = groups - 1,
                    .error_df = spread / (3 * correction)};
  const auto p = f_tail(result.f, result.df, result.error_df);
  if (!p) return std::nullopt;
  result.p = *p;
  return result;
}

}  // namespace stab::stats
