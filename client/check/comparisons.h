// SPDX-License-Identifier: MIT
// What a plan's report will compare, known before anything runs: which levels, how many comparisons
// are corrected for each other (stats/decide.h), and the degrees of freedom of each one's error
// (stats/own_error.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "stats/verdicts/analysis.h"

namespace stab::client {

struct Comparison {
  std::size_t treatment = 0;  // as plan::treatments() has them
  std::size_t base = 0;
  std::size_t level = 0;
  std::size_t cells = 0;  // whose mean stands on each side
};

// Those of one benchmark; of a custom design those for which it has cells. None of a calibration,
// whose comparisons are not corrected for each other.
std::vector<Comparison> comparisons_of(const plan::Plan& plan);

// Where the error of a family's comparisons comes from.
struct OwnError {
  std::string benchmark{};  // "": over all of them
  std::size_t units = 0;    // blocks, benchmarks, or seeds in a cell
  std::size_t df = 0;
};

// The comparisons that are corrected together.
struct Family {
  stats::Scope scope = stats::Scope::subject;
  std::size_t comparisons = 0;
  std::string more{};              // of what gives an error more degrees of freedom: "repetitions"
  std::vector<OwnError> errors{};  // one a benchmark, or one over all

  [[nodiscard]] std::size_t fewest_df() const;
};

// The one that decides first; none without comparisons.
std::vector<Family> families(const plan::Plan& plan);

}  // namespace stab::client
