// SPDX-License-Identifier: MIT
// Degrees of freedom of a linear model over cells, some of which may be missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stab::plan {

struct SequentialDf {
  std::vector<std::int64_t> df;  // one per term
  std::int64_t rest = 0;         // of all terms that would take too long to tell apart
};

// A cell holds the index of each factor's level; all cells differ. A term is a set of factors, with
// bit i for factor i. A term's degrees of freedom are the increase of the rank when it follows the
// mean and the terms before it, as in R's aov.
SequentialDf sequential_df(const std::vector<std::vector<std::size_t>>& cells,
                           const std::vector<std::uint32_t>& terms);

}  // namespace stab::plan
