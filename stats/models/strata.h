// SPDX-License-Identifier: MIT
// Analysis of variance with a stratum for each term: y ~ a * b + Error(unit / (a * b)), where the
// units are blocks or subjects.
//
// Each term is tested against its own interaction with the units (Winer: Statistical principles in
// experimental design, 1971; R: aov with Error strata). The variation of trials inside a cell is
// shown but not used for tests: pooled into the error, many trials of few units would count like
// many units. A term with several degrees of freedom assumes that its contrasts vary equally
// between units; epsilon says how far that is from true and reduces the degrees of freedom
// (Greenhouse and Geisser, Psychometrika 1959).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stats/numbers/summary.h"

namespace stab::stats {

struct StratumTerm {
  std::uint32_t treatments = 0;  // bit i: treatment i is in the term
  double df = 0;
  double ss = 0;
  double error_df = 0;  // of unit:term
  double error_ss = 0;
  std::optional<double> epsilon{};  // only for tested terms with several degrees of freedom
};

struct Strata {
  std::vector<StratumTerm> terms{};  // terms without degrees of freedom are left out
  double unit_df = 0;
  double unit_ss = 0;
  double within_df = 0;  // of trials inside cells; 0: one trial a cell
  double within_ss = 0;
  bool balanced = true;  // every cell has equally many trials
};

// `shape` has the number of levels of each treatment; `cells` are the cells that every unit has,
// rising. `terms` are the terms of the model; if cells are missing, each term is adjusted for the
// terms that do not contain it, like sums of squares of type II. `table` has the cells of the first
// unit, then those of the next, for two or more units. Unequal cells count by their means, times
// the harmonic mean of their sizes (the analysis of unweighted means). `noise` is as in Prepared.
// Returns nothing if there are too many cells for a table.
std::optional<Strata> strata_of(std::span<const std::size_t> shape,
                                std::span<const std::size_t> cells,
                                std::span<const std::uint32_t> terms,
                                std::span<const Moments> table, double noise);

}  // namespace stab::stats
