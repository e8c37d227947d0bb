// SPDX-License-Identifier: MIT
// From estimates to effects: ratios with intervals, p-values and verdicts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stats/analysis.h"
#include "stats/estimate.h"
#include "stats/notes.h"
#include "stats/prepare.h"

namespace stab::stats {

// Which two levels of which treatment are compared, and on what.
struct Comparison {
  std::string subject{};
  std::size_t treatment = 0;
  std::size_t base = 0;
  std::size_t level = 0;
};

// Each active treatment's levels against its first one.
std::vector<Comparison> comparisons(const Prepared& data, const std::string& subject);

// Without an estimate, or where the estimate has no error, the effect lacks what cannot be known
// and a note says why.
Effect make_effect(const Prepared& data, const Comparison& comparison,
                   const std::optional<Estimate>& estimate, std::string method, Notes& notes);

// The cells at the baseline, and those at the level with the same levels of the other treatments.
struct Sides {
  std::vector<std::size_t> base{};
  std::vector<std::size_t> level{};
};
// As positions in `cells`; only pairs that the subject has are used.
Sides sides(const Prepared& data, const std::vector<Group>& cells, const Comparison& comparison);

// The cells' own numbers at these positions.
std::vector<std::size_t> cell_numbers(const std::vector<Group>& cells,
                                      const std::vector<std::size_t>& positions);

}  // namespace stab::stats
