// SPDX-License-Identifier: MIT
// Least squares by an orthogonal triangularization that takes one row at a time, so that no row is
// kept (Givens rotations; Gentleman, AS 75, 1974; Miller, AS 274, 1992).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stab::stats {

// After settle(): R x = rhs in the least-squares sense, where a column that depends on earlier ones
// has an empty row.
class Triangle {
 public:
  // Columns whose part orthogonal to the earlier ones is not longer than `tolerance` count as
  // dependent.
  Triangle(std::size_t columns, double tolerance);

  // The row (already multiplied by the root of its weight) is used up.
  void include(std::span<double> row, double y);
  // Adds to what no column explains.
  void include_residual(double ss) { residual_ss_ += ss; }
  // Once, after the last row: empties the rows of dependent columns, losing nothing of the data.
  void settle();

  // The settled triangle of a fit with these columns only, in this order.
  [[nodiscard]] Triangle reordered(std::span<const std::size_t> order) const;

  [[nodiscard]] std::size_t columns() const { return columns_; }
  [[nodiscard]] double tolerance() const { return tolerance_; }
  [[nodiscard]] bool is_dependent(std::size_t column) const { return at(column, column) == 0; }
  // The reduction of the sum of squares by this column, after the earlier ones.
  [[nodiscard]] double explained(std::size_t column) const { return rhs_[column] * rhs_[column]; }
  [[nodiscard]] double residual_ss() const { return residual_ss_; }
  [[nodiscard]] std::size_t rank() const;

  // The z with R' z = c: then c'x is estimated by dot(z), with variance sigma^2 z'z.
  // Nothing if the data says nothing about c'x.
  [[nodiscard]] std::optional<std::vector<double>> dual(std::span<const double> c) const;
  // The x of R x = rhs; 0 for dependent columns.
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
