// SPDX-License-Identifier: MIT
#include "stats/models/factorial.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "stats/data/terms.h"

namespace stab::stats {
namespace {

constexpr std::size_t most_columns = 2000;
constexpr double most_work = 4e9;  // multiplications

// Returns the largest order of interactions that can be fitted, or 0.
std::size_t affordable_order(std::span<const std::size_t> shape, std::size_t points) {
  for (std::size_t order = active_treatments(shape); order >= 1; --order) {
    const auto terms = all_terms(shape, order);
    double columns = 0;
    for (const std::uint32_t term : terms) columns += term_columns(term, shape);
    const double work = columns * columns *
                        (static_cast<double>(terms.size()) * columns + static_cast<double>(points));
    if (columns <= most_columns && work <= most_work) return order;
  }
  return 0;
}

std::size_t columns_of(std::span<const std::uint32_t> terms, std::span<const std::size_t> shape) {
  double columns = 0;
  for (const std::uint32_t term : terms) columns += term_columns(term, shape);
  return static_cast<std::size_t>(columns);
}

double total(std::span<const Point> points) {
  double n = 0;
  for (const Point& point : points) n += static_cast<double>(point.y.n);
  return n;
}

double inner(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Calls use(points of one block) for each block.
template <class Use>
void for_each_block(std::span<const Point> points, Use use) {
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin + 1;
    while (end < points.size() && points[end].block == points[begin].block) ++end;
    use(points.subspan(begin, end - begin));
    begin = end;
  }
}

// Returns whether every block has each of the model's cells equally often.
bool is_balanced(std::span<const Point> points, std::span<const std::size_t> shape,
                 std::size_t cells) {
  std::size_t all = 1;
  for (const std::size_t levels : shape) all *= levels;
  bool balanced = true;
  std::vector<std::size_t> expected;  // trials of one block, by cell
  for_each_block(points, [&](std::span<const Point> part) {
    balanced = balanced && part.size() >= cells;
    if (!balanced) return;
    std::vector<std::size_t> counts(all);
    for (const Point& point : part) counts[point.cell] += point.y.n;
    if (expected.empty()) expected = counts;
    balanced = counts == expected;
  });
  const std::size_t most = expected.empty() ? 0 : std::ranges::max(expected);
  return balanced && most > 0 &&
         std::ranges::count(expected, most) == static_cast<std::ptrdiff_t>(cells) &&
         std::ranges::count(expected, 0U) == static_cast<std::ptrdiff_t>(all - cells);
}

}  // namespace

FactorialModel::FactorialModel(std::span<const std::size_t> shape, std::vector<std::uint32_t> terms,
                               std::span<const Point> points)
    : shape_(shape.begin(), shape.end()),
      terms_(std::move(terms)),
      triangle_(columns_of(terms_, shape), 1e-9 * std::sqrt(total(points))),
      mean_row_(columns_of(terms_, shape)) {
  first_column_.push_back(0);
  for (const std::uint32_t term : terms_)
    first_column_.push_back(first_column_.back() +
                            static_cast<std::size_t>(term_columns(term, shape)));
}

std::optional<FactorialModel> FactorialModel::fit(std::span<const std::size_t> shape,
                                                  std::span<const Point> points, double noise,
                                                  SumsOfSquares type,
                                                  std::span<const std::uint32_t> terms) {
  if (!terms.empty()) {
    FactorialModel model(shape, {terms.begin(), terms.end()}, points);
    model.cells_ = columns_of(terms, shape) + 1;
    model.fit_.order = active_treatments(shape);
    model.fit_all(points, noise, type);
    return model;
  }
  const std::size_t order = affordable_order(shape, points.size());
  if (order == 0 && active_treatments(shape) > 0) return std::nullopt;
  FactorialModel model(shape, all_terms(shape, order), points);
  for (const std::size_t levels : shape) model.cells_ *= levels;
  model.fit_.order = order;
  model.fit_all(points, noise, type);
  return model;
}

void FactorialModel::write_row(std::size_t cell, std::span<double> row) const {
  std::vector<std::size_t> levels(shape_.size());
  for (std::size_t i = shape_.size(); i-- > 0;) {
    levels[i] = cell % shape_[i];
    cell /= shape_[i];
  }
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    std::span<double> part = row.subspan(first_column_[t], first_column_[t + 1] - first_column_[t]);
    write_sum_coding(terms_[t], shape_, levels, part);
  }
}

std::vector<double> FactorialModel::weighted_row(std::span<const std::size_t> cells,
                                                 std::span<const double> weights) const {
  std::vector<double> sum(mean_row_.size());
  std::vector<double> row(sum.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (weights[i] == 0) continue;
    write_row(cells[i], row);
    for (std::size_t j = 0; j < row.size(); ++j) sum[j] += weights[i] * row[j];
  }
  return sum;
}

FactorialModel::Block FactorialModel::centre_of(std::span<const Point> points) const {
  Block block{.points = points, .n = total(points), .row = std::vector<double>(mean_row_.size())};
  std::vector<double> row(mean_row_.size());
  for (const Point& point : points) {
    const double share = static_cast<double>(point.y.n) / block.n;
    block.mean += share * point.y.mean;
    write_row(point.cell, row);
    for (std::size_t j = 0; j < row.size(); ++j) block.row[j] += share * row[j];
  }
  return block;
}

void FactorialModel::include(const Block& block, Triangle& triangle) const {
  std::vector<double> row(mean_row_.size());
  for (const Point& point : block.points) {
    const double root = std::sqrt(static_cast<double>(point.y.n));
    write_row(point.cell, row);
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = root * (row[j] - block.row[j]);
    triangle.include(row, root * (point.y.mean - block.mean));
    triangle.include_residual(point.y.ss);
  }
}

void FactorialModel::fit_all(std::span<const Point> points, double noise, SumsOfSquares type) {
  for_each_block(points, [&](std::span<const Point> part) {
    const Block block = centre_of(part);
    include(block, triangle_);
    ++blocks_;
    mean_ += block.mean;
    mean_variance_ += 1 / block.n;
    for (std::size_t j = 0; j < mean_row_.size(); ++j) mean_row_[j] += block.row[j];
  });
  triangle_.settle();
  const double blocks = static_cast<double>(blocks_);
  mean_ /= blocks;
  mean_variance_ /= blocks * blocks;
  for (double& x : mean_row_) x /= blocks;

  const double n = total(points);
  const auto denoise = [&](double ss) { return ss <= n * noise ? 0 : ss; };
  fit_.balanced = is_balanced(points, shape_, cells_);
  if (triangle_.rank() == triangle_.columns()) fit_.type = type;
  fit_.residual_df = n - blocks - static_cast<double>(triangle_.rank());
  fit_.residual_ss = fit_.residual_df > 0 ? denoise(triangle_.residual_ss()) : 0;
  if (blocks_ > 1) fit_.block = test_block(points);
  for (std::size_t t = 0; t < terms_.size(); ++t) fit_.terms.push_back(test(t));
  for (Term& term : fit_.terms) term.ss = denoise(term.ss);
  if (fit_.block) fit_.block->ss = denoise(fit_.block->ss);
  std::erase_if(fit_.terms, [](const Term& term) { return term.df == 0; });
}

bool FactorialModel::is_adjusted_for(std::size_t other, std::size_t term) const {
  if (fit_.type == SumsOfSquares::type3) return other != term;
  return (terms_[other] & terms_[term]) != terms_[term];
}

std::vector<double> FactorialModel::fitted(std::span<const Point> points) const {
  const std::vector<double> coefficients = triangle_.solution();
  std::vector<double> row(mean_row_.size());
  std::vector<double> result;
  result.reserve(points.size());
  for_each_block(points, [&](std::span<const Point> part) {
    const Block block = centre_of(part);
    for (const Point& point : part) {
      write_row(point.cell, row);
      for (std::size_t j = 0; j < row.size(); ++j) row[j] -= block.row[j];
      result.push_back(block.mean + inner(row, coefficients));
    }
  });
  return result;
}

Term FactorialModel::test(std::size_t term) const {
  std::vector<std::size_t> order;
  const auto append = [&](std::size_t t) {
    for (std::size_t j = first_column_[t]; j < first_column_[t + 1]; ++j) order.push_back(j);
  };
  for (std::size_t t = 0; t < terms_.size(); ++t)
    if (is_adjusted_for(t, term)) append(t);
  const std::size_t first = order.size();
  append(term);
  Term result{.treatments = terms_[term]};
  const auto add = [&](const Triangle& triangle, std::size_t column) {
    if (triangle.is_dependent(column)) return;
    result.df += 1;
    result.ss += triangle.explained(column);
  };
  if (fit_.balanced) {  // orthogonal terms: any order gives the same
    for (std::size_t j = first_column_[term]; j < first_column_[term + 1]; ++j) add(triangle_, j);
  } else {
    const Triangle adjusted = triangle_.reordered(order);
    for (std::size_t j = first; j < order.size(); ++j) add(adjusted, j);
  }
  return result;
}

Term FactorialModel::test_block(std::span<const Point> points) const {
  std::vector<Point> pooled(points.begin(), points.end());
  for (Point& point : pooled) point.block = 0;
  Triangle without(triangle_.columns(), triangle_.tolerance());
  include(centre_of(pooled), without);
  without.settle();
  const double df = static_cast<double>(blocks_ - 1) + static_cast<double>(triangle_.rank()) -
                    static_cast<double>(without.rank());
  return {.treatments = 0,
          .df = df,
          .ss = std::max(0.0, without.residual_ss() - triangle_.residual_ss())};
}

std::optional<Estimate> FactorialModel::contrast(std::span<const std::size_t> cells,
                                                 const Contrast& contrast) const {
  if (contrast.weights.empty()) return std::nullopt;
  const auto z = triangle_.dual(weighted_row(cells, contrast.weights));
  if (!z) return std::nullopt;
  const double sigma2 = fit_.residual_df > 0 ? fit_.residual_ss / fit_.residual_df : 0;
  Estimate result{
      .difference = triangle_.dot(*z), .variance = sigma2 * inner(*z, *z), .df = fit_.residual_df};
  if (contrast.base.empty()) return result;
  std::vector<double> at_base = weighted_row(cells, contrast.base);
  for (std::size_t j = 0; j < at_base.size(); ++j) at_base[j] -= mean_row_[j];
  if (const auto z_base = triangle_.dual(at_base)) {
    result.base = mean_ + triangle_.dot(*z_base);
    result.base_variance = sigma2 * (mean_variance_ + inner(*z_base, *z_base));
    result.base_covariance = sigma2 * inner(*z_base, *z);
  }
  return result;
}

}  // namespace stab::stats
