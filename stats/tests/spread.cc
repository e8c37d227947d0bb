// SPDX-License-Identifier: MIT
#include "stats/tests/spread.h"

#include <algorithm>
#include <cmath>

#include "stats/numbers/distribution.h"
#include "stats/numbers/order.h"
#include "stats/tests/sample.h"

namespace stab::stats {
namespace {

// The distances of a cell's numbers from their median, divided by the mean distance, and the log
// variance.
struct Cell {
  double weight = 0;
  double log_variance = 0;  // without a constant that all cells share
  std::vector<double> distances{};
};

std::optional<Cell> cell_of(std::span<const double> values, double weight) {
  if (values.size() < least_for_spread) return std::nullopt;
  if (std::ranges::any_of(values, [](double x) { return !std::isfinite(x); })) return std::nullopt;
  if (!varies(moments(values))) return std::nullopt;
  Cell cell{.weight = weight};
  const double middle = median(values);
  Moments distances;
  for (const double x : values) {
    cell.distances.push_back(std::abs(x - middle));
    distances.add(cell.distances.back());
  }
  if (!(distances.mean > 0)) return std::nullopt;
  for (double& distance : cell.distances) distance /= distances.mean;
  const double n = static_cast<double>(values.size());
  cell.log_variance = 2 * std::log(distances.mean * n / (n - 1));
  return cell;
}

// The covariances of the cells' mean distances, which are 0 if the cells are independent.
using Matrix = std::vector<std::vector<double>>;

Matrix covariances_of(const std::vector<Cell>& cells, bool in_blocks) {
  Matrix result(cells.size(), std::vector<double>(cells.size()));
  for (std::size_t i = 0; i < cells.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      if (i != j && !in_blocks) continue;
      const double n = static_cast<double>(cells[i].distances.size());
      double products = 0;
      for (std::size_t k = 0; k < cells[i].distances.size(); ++k)
        products += (cells[i].distances[k] - 1) * (cells[j].distances[k] - 1);
      result[i][j] = result[j][i] = products / (n - 1) / n;
    }
  return result;
}

// Student's t of the weighted mean distances when each cell is multiplied by exp(weight * shift).
std::optional<double> statistic(const std::vector<Cell>& cells, const Matrix& covariances,
                                double shift) {
  std::vector<double> factors;
  for (const Cell& cell : cells) factors.push_back(cell.weight * std::exp(cell.weight * shift));
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

std::optional<Spread> compare(const std::vector<Cell>& cells, bool in_blocks, double alpha) {
  if (cells.size() < 2) return std::nullopt;
  constexpr double smallest = 1e-6;  // for smaller values, rounding would show in the error
  double difference = 0;
  double squares = 0;
  std::size_t least = cells.front().distances.size();
  for (const Cell& cell : cells) {
    difference += cell.weight * cell.log_variance;
    squares += cell.weight * cell.weight;
    least = std::min(least, cell.distances.size());
  }
  // Uses the smallest changes of the cells' scales that make the null hypothesis hold.
  const double seen = std::abs(difference) < smallest ? smallest : difference;
  const auto t = statistic(cells, covariances_of(cells, in_blocks), seen / (2 * squares));
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

std::optional<Spread> spread_within_blocks(std::span<const std::vector<double>> blocks,
                                           std::span<const double> weights, double alpha) {
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    std::vector<double> values;
    for (const std::vector<double>& block : blocks) values.push_back(block[i]);
    const auto cell = cell_of(values, weights[i]);
    if (!cell) return std::nullopt;
    cells.push_back(*cell);
  }
  return compare(cells, true, alpha);
}

std::optional<Spread> spread_between_cells(std::span<const std::vector<double>> cells,
                                           std::span<const double> weights, double alpha) {
  std::vector<Cell> compared;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const auto cell = cell_of(cells[i], weights[i]);
    if (!cell) return std::nullopt;
    compared.push_back(*cell);
  }
  return compare(compared, false, alpha);
}

}  // namespace stab::stats
