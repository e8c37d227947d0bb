// SPDX-License-Identifier: MIT
// Analysis of variance within subjects, on all trials: y ~ a * b + Error(subject / (a * b)).
//
// Each term is tested against its own interaction with the subjects (Winer: Statistical principles
// in experimental design, 1971; R: aov with Error strata). The variation of trials inside a cell is
// shown and tests nothing: pooling it into the error would take many trials of few programs for
// many programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/estimate.h"
#include "stats/summary.h"

namespace stab::stats {

struct WithinTerm {
  std::uint32_t treatments = 0;  // bit i: treatment i is in the term
  double df = 0;
  double ss = 0;
  double error_df = 0;  // subject:term
  double error_ss = 0;
};

struct WithinFit {
  double subject_df = 0;
  double subject_ss = 0;
  std::vector<WithinTerm> terms{};
  double within_df = 0;  // of trials inside cells; 0: one trial a cell
  double within_ss = 0;
  bool balanced = true;  // every cell has equally many trials
};

class WithinModel {
 public:
  // `shape`: the number of levels of each treatment. `table`: the cells of the first subject, then
  // those of the next; no cell is empty; there are two subjects or more. Unequal cells count by
  // their means, multiplied by the harmonic mean of their numbers (the analysis of unweighted
  // means).
  WithinModel(std::span<const std::size_t> shape, std::span<const Moments> table, double noise);

  [[nodiscard]] const WithinFit& result() const { return fit_; }

  // Mean at `level` minus mean at `base` of one treatment, over all subjects and the other
  // treatments' levels, with the error of the subject:treatment stratum.
  [[nodiscard]] Estimate contrast(std::size_t treatment, std::size_t base, std::size_t level) const;

  // Each subject's mean at one level, over the other treatments' levels.
  [[nodiscard]] std::vector<double> subject_means(std::size_t treatment, std::size_t level) const;
  // Each subject's mean of cells with these weights, one a cell.
  [[nodiscard]] std::vector<double> weighted(std::span<const double> weights) const;

 private:
  [[nodiscard]] double level_mean(std::size_t treatment, std::size_t level) const;
  void fit(std::span<const Moments> table, double noise);

  std::vector<std::size_t> shape_;  // subjects first
  std::vector<double> means_;
  double multiplier_ = 1;  // trials a cell
  WithinFit fit_;
};

// The sum of squares of one effect in a complete table with one number a cell (the last axis
// fastest): the table is averaged over the axes that are not in `effect` and centred along those
// that are.
double effect_ss(std::span<const std::size_t> shape, std::span<const double> table,
                 std::uint32_t effect);

}  // namespace stab::stats
