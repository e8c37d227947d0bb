// SPDX-License-Identifier: MIT
#include "stats/tests/spread.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stats/numbers/distribution.h"
#include "stats/numbers/order.h"
#include "stats/tests/sample.h"

namespace stab::stats {
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

}  // namespace stab::stats
