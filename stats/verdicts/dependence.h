// SPDX-License-Identifier: MIT
// Whether what befell trials (that they were disturbed) depends on their cell. The order within a
// block is drawn at random, so what comes from outside is as likely to meet each of the block's
// trials, however it is spread over blocks. The marks are dealt anew to the trials of their own
// block, and p is how often they then differ between cells as much as they do (a permutation test
// of Cochran's kind, Biometrika 1950): it holds its level for any counts. Where so many deals as a
// small alpha needs would take long, p is an upper bound instead, which that many marks make small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace stab::stats {

// A trial, marked or not.
struct Marked {
  std::uint32_t stratum = 0;  // what is dealt together: a benchmark's trials of a block
  std::uint32_t cell = 0;     // of all benchmarks, from 0 without large gaps
  bool marked = false;
};

struct Dependence {
  std::size_t marks = 0;  // in strata that also have other cells and trials without a mark
  double statistic = 0;   // sum over cells of (marks - expected)^2 / expected
  // (those as far + 1) / (dealt + 1), or the bound; none without such marks.
  std::optional<double> p{};
  std::size_t dealt = 0;  // 0: p is the bound
};

// `alpha`: of the test that p is for, above 0.
Dependence dependence_on_cell(std::span<const Marked> trials, std::uint64_t seed,
                              double alpha = 0.05);

}  // namespace stab::stats
