// SPDX-License-Identifier: MIT
// Degrees of freedom of a linear model over cells of which some may be missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stab::plan {

struct SequentialDf {
  std::vector<std::int64_t> df;  // one a term
  std::int64_t rest = 0;         // of the terms that would have taken too long to tell apart
};

// `cells`: the level's index of each factor, all cells different. `terms`: each a set of factors,
// bit i for factor i. A term's degrees of freedom are what it adds to the rank after the mean and
// the terms before it, as in R's aov.
SequentialDf sequential_df(const std::vector<std::vector<std::size_t>>& cells,
                           const std::vector<std::uint32_t>& terms);

}  // namespace stab::plan
