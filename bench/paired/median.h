// SPDX-License-Identifier: MIT
// The median of a column of numbers, with an interval that assumes nothing about their
// distribution.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "stats/numbers/summary.h"

namespace stab::bench {

struct Median {
  std::size_t n = 0;
  double value = 0;
  // Two order statistics, chosen by the sign test: they hold the true median with a probability of
  // `coverage`, at least 1 - alpha. Nothing if there are too few numbers for that (below six at
  // alpha = 5 %).
  std::optional<stats::Interval> interval{};
  double coverage = 0;
};

// Of finite numbers; nothing if there are none. The interval's ends are the k-th smallest and the
// k-th largest, with the largest k for which P(Binomial(n, 1/2) < k) <= alpha / 2 (Hollander,
// Wolfe: Nonparametric Statistical Methods, 3.6).
std::optional<Median> median(std::span<const double> values, double alpha);

}  // namespace stab::bench
