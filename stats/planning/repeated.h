// SPDX-License-Identifier: MIT
// Tests and intervals of an experiment that may stop at each of several looks.
//
// A boundary that is planned with alpha is crossed at some look with probability alpha. So the
// smallest alpha whose boundary a p reaches at this look is a p that holds for all looks together,
// wherever the experiment ends (Jennison and Turnbull: Repeated confidence intervals, 1989). The
// boundaries are those of alpha_spending.h. Such a p is adjusted for several comparisons like any
// other.
#pragma once

#include <cstddef>
#include <vector>

#include "base/error.h"

namespace stab::stats {

// A group-sequential experiment.
struct Looks {
  std::vector<std::size_t> planned{};  // after how many blocks: rising; the last is the most blocks
  std::size_t blocks = 0;              // that the data has
};

class Repeated {
 public:
  // An experiment that ends between two looks, as a cancelled one does, gets a look at its end:
  // alpha spending allows looks that were not planned.
  static Result<Repeated> at(const Looks& looks);

  // The level of tests and intervals at this look alone, so that all looks together have `alpha`.
  // 0: it is too early for any.
  [[nodiscard]] double level(double alpha) const;

  // Makes the two-sided p of this look alone one for all looks: p(x) <= alpha exactly if
  // x <= level(alpha), to the precision of the search.
  [[nodiscard]] double p(double p) const;
  [[nodiscard]] double one_sided_p(double p) const;

 private:
  explicit Repeated(std::vector<double> fractions) : fractions_(std::move(fractions)) {}
  std::vector<double> fractions_;  // of the looks so far, the last is this one
};

}  // namespace stab::stats
