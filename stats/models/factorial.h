// SPDX-License-Identifier: MIT
// y ~ block + a * b * ...: categorical treatments with their interactions, and an additive block.
//
// The model is fitted on weighted cell means. Blocks are absorbed by centring within each (Frisch,
// Waugh, 1933), so only the treatments have columns (sum-to-zero coding). With sums of squares of
// type II, each term is adjusted for the block and for all terms that do not contain it, like R's
// anova() of the two models. With type III, each term is adjusted for all others, like
// car::Anova(type = 3) with sum-to-zero contrasts. For balanced data both equal the sequential sums
// of squares. Type III needs all cells; if cells are missing, the fit says that it is of type II.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/data/spec.h"
#include "stats/models/own_error.h"
#include "stats/numbers/summary.h"
#include "stats/numbers/triangle.h"
#include "stats/tests/estimate.h"

namespace stab::stats {

// The trials of one block in one cell. Cells are numbered with the last treatment fastest.
struct Point {
  std::uint32_t block = 0;
  std::uint32_t cell = 0;
  Moments y;
};

struct Term {
  std::uint32_t treatments = 0;  // bit i: treatment i is in the term
  double df = 0;
  double ss = 0;
};

struct FactorialFit {
  std::vector<Term> terms{};    // main effects first; terms without degrees of freedom are left out
  std::optional<Term> block{};  // present if there are two blocks or more
  double residual_df = 0;
  double residual_ss = 0;  // 0 if only rounding is left
  std::size_t order = 0;   // number of treatments in the largest interaction of the model
  bool balanced = true;    // every block has every cell equally often
  SumsOfSquares type = SumsOfSquares::type2;
};

class FactorialModel {
 public:
  // `shape` has the number of levels of each treatment. `points` is ordered by block and not empty.
  // `noise` is as in Prepared. `terms` are the terms of the model; if empty, all interactions. High
  // interactions stay in the residuals if fitting them would take more than a second or two.
  // Returns nothing if even the main effects are too many.
  static std::optional<FactorialModel> fit(std::span<const std::size_t> shape,
                                           std::span<const Point> points, double noise,
                                           SumsOfSquares type = SumsOfSquares::type2,
                                           std::span<const std::uint32_t> terms = {});

  [[nodiscard]] const FactorialFit& result() const { return fit_; }

  // Returns the model's expectation at each of the points that it was fitted to.
  [[nodiscard]] std::vector<double> fitted(std::span<const Point> points) const;

  // A contrast of these cells, averaged over blocks, with the residual error of the model. Returns
  // nothing if the data does not determine it.
  [[nodiscard]] std::optional<Estimate> contrast(std::span<const std::size_t> cells,
                                                 const Contrast& contrast) const;

 private:
  FactorialModel(std::span<const std::size_t> shape, std::vector<std::uint32_t> terms,
                 std::span<const Point> points);

  struct Block {
    std::span<const Point> points;
    double n = 0;
    double mean = 0;
    std::vector<double> row;  // the mean of its rows
  };

  void write_row(std::size_t cell, std::span<double> row) const;
  [[nodiscard]] std::vector<double> weighted_row(std::span<const std::size_t> cells,
                                                 std::span<const double> weights) const;
  [[nodiscard]] Block centre_of(std::span<const Point> points) const;
  void include(const Block& block, Triangle& triangle) const;
  void fit_all(std::span<const Point> points, double noise, SumsOfSquares type);
  [[nodiscard]] Term test(std::size_t term) const;
  [[nodiscard]] bool is_adjusted_for(std::size_t other, std::size_t term) const;
  [[nodiscard]] Term test_block(std::span<const Point> points) const;

  std::vector<std::size_t> shape_;
  std::size_t cells_ = 1;                  // number of cells in the design
  std::vector<std::uint32_t> terms_;       // in the order of their columns
  std::vector<std::size_t> first_column_;  // one more than terms_
  Triangle triangle_;
  // Averages over blocks, for means at a level.
  std::size_t blocks_ = 0;
  double mean_ = 0;
  double mean_variance_ = 0;  // of mean_, in units of sigma^2
  std::vector<double> mean_row_;
  FactorialFit fit_;
};

}  // namespace stab::stats
