// SPDX-License-Identifier: MIT
// What a number means that is looked at several times, with the right to stop at each look.
//
// A boundary planned with alpha is crossed at any look with probability alpha. Turned round: the
// smallest alpha whose boundary a p reaches at this look is a p that holds for all looks together,
// wherever the experiment ends (Jennison and Turnbull: Repeated confidence intervals, 1989; the
// boundaries are alpha_spending.h's). Such p can be adjusted for several comparisons like any
// others.
#pragma once

#include <cstddef>
#include <vector>

#include "base/error.h"

namespace stab::stats {

// A group-sequential experiment.
struct Looks {
  std::vector<std::size_t>
      planned{};           // after how many blocks: rising, the last is the largest number
  std::size_t blocks = 0;  // that the data has
};

class Repeated {
 public:
  // An experiment that ends between two looks, as a cancelled one does, is looked at where it is:
  // spending allows looks that were not planned.
  static Result<Repeated> at(const Looks& looks);

  // The level of this look alone when all looks have `alpha`: of intervals and of tests. 0: it is
  // too early for any.
  [[nodiscard]] double level(double alpha) const;

  // A two-sided p of this look alone as one of all looks: p(x) <= alpha exactly if
  // x <= level(alpha), as far as it can be computed.
  [[nodiscard]] double p(double p) const;
  [[nodiscard]] double one_sided_p(double p) const;

 private:
  explicit Repeated(std::vector<double> fractions) : fractions_(std::move(fractions)) {}
  std::vector<double> fractions_;  // of the looks so far, the last is this one
};

}  // namespace stab::stats
