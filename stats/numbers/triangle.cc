// SPDX-License-Identifier: MIT
#include "stats/numbers/triangle.h"

#include <cmath>

namespace stab::stats {

Triangle::Triangle(std::size_t columns, double tolerance)
    : columns_(columns), tolerance_(tolerance), cells_(columns * columns), rhs_(columns) {}

void Triangle::include(std::span<double> row, double y) {
  rotate_in(row, y, 0);
}

void Triangle::rotate_in(std::span<double> row, double y, std::size_t first) {
  for (std::size_t i = first; i < columns_; ++i) {
    if (row[i] == 0) continue;
    const double length = std::hypot(at(i, i), row[i]);
    const double c = at(i, i) / length;
    const double s = row[i] / length;
    at(i, i) = length;
    for (std::size_t j = i + 1; j < columns_; ++j) {
      const double old = at(i, j);
      at(i, j) = c * old + s * row[j];
      row[j] = c * row[j] - s * old;
    }
    const double old = rhs_[i];
    rhs_[i] = c * old + s * y;
    y = c * y - s * old;
  }
  residual_ss_ += y * y;
}

void Triangle::settle() {
  std::vector<double> row(columns_);
  for (std::size_t i = 0; i < columns_; ++i) {
    if (std::abs(at(i, i)) > tolerance_) continue;
    for (std::size_t j = i; j < columns_; ++j) {
      row[j] = j == i ? 0 : at(i, j);
      at(i, j) = 0;
    }
    const double y = rhs_[i];
    rhs_[i] = 0;
    rotate_in(row, y, i + 1);
  }
}

Triangle Triangle::reordered(std::span<const std::size_t> order) const {
  Triangle result(order.size(), tolerance_);
  std::vector<double> row(order.size());
  for (std::size_t i = 0; i < columns_; ++i) {
    for (std::size_t j = 0; j < order.size(); ++j) row[j] = at(i, order[j]);
    result.include(row, rhs_[i]);
  }
  result.residual_ss_ += residual_ss_;
  result.settle();
  return result;
}

std::size_t Triangle::rank() const {
  std::size_t rank = 0;
  for (std::size_t i = 0; i < columns_; ++i) rank += is_dependent(i) ? 0 : 1;
  return rank;
}

std::optional<std::vector<double>> Triangle::dual(std::span<const double> c) const {
  std::vector<double> rest(c.begin(), c.end());
  std::vector<double> z(columns_);
  for (std::size_t i = 0; i < columns_; ++i) {
    if (is_dependent(i)) {
      if (std::abs(rest[i]) > 1e-7) return std::nullopt;
      continue;
    }
    z[i] = rest[i] / at(i, i);
    for (std::size_t j = i + 1; j < columns_; ++j) rest[j] -= z[i] * at(i, j);
  }
  return z;
}

std::vector<double> Triangle::solution() const {
  std::vector<double> x(columns_);
  for (std::size_t i = columns_; i-- > 0;) {
    if (is_dependent(i)) continue;
    double rest = rhs_[i];
    for (std::size_t j = i + 1; j < columns_; ++j) rest -= at(i, j) * x[j];
    x[i] = rest / at(i, i);
  }
  return x;
}

double Triangle::dot(std::span<const double> z) const {
  double sum = 0;
  for (std::size_t i = 0; i < columns_; ++i) sum += z[i] * rhs_[i];
  return sum;
}

}  // namespace stab::stats
