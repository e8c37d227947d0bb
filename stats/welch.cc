// SPDX-License-Identifier: MIT
#include "stats/welch.h"

namespace stab::stats {
namespace {

// The mean of cell means, its variance, and what Satterthwaite's formula needs of it.
struct Side {
  double mean = 0;
  double variance = 0;
  double square_over_df = 0;
  bool complete = true;  // every cell has a variance
};

Side side(std::span<const Moments> cells) {
  Side result;
  const double weight = 1 / static_cast<double>(cells.size());
  for (const Moments& cell : cells) {
    result.mean += weight * cell.mean;
    const auto variance = cell.variance();
    if (!variance) {
      result.complete = false;
      continue;
    }
    const double n = static_cast<double>(cell.n);
    const double part = weight * weight * *variance / n;
    result.variance += part;
    result.square_over_df += part * part / (n - 1);
  }
  return result;
}

}  // namespace

Estimate welch(std::span<const Moments> a, std::span<const Moments> b) {
  const Side at_a = side(a);
  const Side at_b = side(b);
  Estimate result{.difference = at_b.mean - at_a.mean, .base = at_a.mean};
  const double squares = at_a.square_over_df + at_b.square_over_df;
  if (!at_a.complete || !at_b.complete || !(squares > 0)) return result;
  result.variance = at_a.variance + at_b.variance;
  result.df = result.variance * result.variance / squares;
  result.base_variance = at_a.variance;
  result.base_covariance = -at_a.variance;
  return result;
}

Estimate welch(const Moments& a, const Moments& b) {
  return welch(std::span(&a, 1), std::span(&b, 1));
}

}  // namespace stab::stats
