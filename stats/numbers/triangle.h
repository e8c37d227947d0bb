// SPDX-License-Identifier: MIT
// Least squares by Givens rotations, which take one row at a time and store no rows (Gentleman, AS
// 75, 1974; Miller, AS 274, 1992).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stab::stats {

// After settle(), R x = rhs in the least-squares sense. The row of a column that depends on earlier
// columns is empty.
class Triangle {
 public:
  // A column counts as dependent if its part orthogonal to the earlier columns is no longer than
  // `tolerance`.
  Triangle(std::size_t columns, double tolerance);

  // The caller has multiplied the row by the square root of its weight. The row is overwritten.
  void include(std::span<double> row, double y);
  // Adds to the residual sum of squares, which no column explains.
  void include_residual(double ss) { residual_ss_ += ss; }
  // Must be called once, after the last row. Empties the rows of dependent columns and moves their
  // content to the other rows.
  void settle();

  // The settled triangle of a fit with only these columns, in this order.
  [[nodiscard]] Triangle reordered(std::span<const std::size_t> order) const;

  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] double tolerance() const { return tolerance_; }
  [[nodiscard]] bool is_dependent(std::size_t column) const { return at(column, column) == 0; }
  // The reduction of the sum of squares by this column, after the earlier ones.
  [[nodiscard]] double explained(std::size_t column) const { return rhs_[column] * rhs_[column]; }
  [[nodiscard]] double residual_ss() const { return residual_ss_; }
  [[nodiscard]] std::size_t rank() const;

  // The z with R' z = c, so that dot(z) estimates c'x with variance sigma^2 z'z. Returns nothing if
  // the data does not determine c'x.
  [[nodiscard]] std::optional<std::vector<double>> dual(std::span<const double> c) const;
  // The x of R x = rhs, which is 0 for dependent columns.
  [[nodiscard]] std::vector<double> solution() const;
  [[nodiscard]] double dot(std::span<const double> z) const;

 private:
  void rotate_in(std::span<double> row, double y, std::size_t first);
  [[nodiscard]] double at(std::size_t i, std::size_t j) const { return cells_[i * columns_ + j]; }
  double& at(std::size_t i, std::size_t j) { return cells_[i * columns_ + j]; }

  std::size_t columns_;
  double tolerance_;
  std::vector<double> cells_;  // row by row; zero below the diagonal
  std::vector<double> rhs_;
  double residual_ss_ = 0;
};

}  // namespace stab::stats
