// SPDX-License-Identifier: MIT
// Tests whether an event that befell trials (a disturbance) depends on their cell. The order within
// a block is drawn at random, so an outside event is as likely to meet each of the block's trials,
// however events are spread over blocks. The marks are dealt anew to the trials of their own block,
// and p is how often they then differ between cells as much as they do (a permutation test of
// Cochran's kind, Biometrika 1950). It holds its level for any counts. If a small alpha needs so
// many deals that they would take long, p is an upper bound instead, which that many marks make
// small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace stab::stats {

// A trial, with or without a mark.
struct Marked {
  std::uint32_t stratum = 0;  // trials that are dealt together: a benchmark's trials in one block
  std::uint32_t cell = 0;     // cell over all benchmarks, from 0 without large gaps
  bool marked = false;
};

struct Dependence {
  std::size_t marks = 0;  // marks in strata that also have other cells and trials without a mark
  double statistic = 0;   // sum over cells of (marks - expected)^2 / expected
  // (deals as far + 1) / (dealt + 1), or the bound; absent without such marks.
  std::optional<double> p{};
  std::size_t dealt = 0;  // 0: p is the bound
};

// `alpha` is the level of the test that uses p; it is above 0.
Dependence dependence_on_cell(std::span<const Marked> trials, std::uint64_t seed,
                              double alpha = 0.05);

}  // namespace stab::stats
