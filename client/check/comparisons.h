// SPDX-License-Identifier: MIT
// Predicts the comparisons in a plan's report before anything runs: their levels, how many of them
// are corrected for each other (stats/verdicts/decide.h), and their errors' degrees of freedom
// (stats/models/own_error.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "stats/verdicts/analysis.h"

namespace stab::client {

struct Comparison {
  std::size_t treatment = 0;  // index into plan::treatments()
  std::size_t base = 0;
  std::size_t level = 0;
  std::size_t cells = 0;  // averaged on each side
};

// The comparisons of one benchmark. A custom design has only those for which it lists cells. Empty
// for a causal profile, and for a calibration, whose comparisons are not corrected for each other.
std::vector<Comparison> comparisons_of(const plan::Plan& plan);

// The source of the error of a family's comparisons.
struct OwnError {
  std::string benchmark{};  // "": all benchmarks together
  std::size_t units = 0;    // blocks, benchmarks, or seeds in a cell
  std::size_t df = 0;
};

// The comparisons that are corrected together.
struct Family {
  stats::Scope scope = stats::Scope::subject;
  std::size_t comparisons = 0;
  std::string more{};              // adding these raises the degrees of freedom: "repetitions"
  std::vector<OwnError> errors{};  // one per benchmark, or one for all benchmarks

  [[nodiscard]] std::size_t fewest_df() const;
};

// The family that decides comes first. Empty if the plan makes no comparisons.
std::vector<Family> families(const plan::Plan& plan);

}  // namespace stab::client
