// SPDX-License-Identifier: MIT
// Tests and intervals of an experiment that may stop at each of several looks.
//
// A boundary that is planned with alpha is crossed at some look with probability alpha. So the
// smallest alpha whose boundary a p reaches at this look is a p that holds for all looks together,
// wherever the experiment ends (Jennison and Turnbull: Repeated confidence intervals, 1989). The
// boundaries are those of spend_alpha(). Such a p is adjusted for several comparisons like any
// other.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"

namespace stab::stats {

// How much of alpha a test may spend when it looks at the data several times (Lan and DeMets,
// Biometrika 1983).
//
// Tests are two-sided and symmetric. Each side spends alpha / 2 by 2 (1 - Phi(z / sqrt(fraction)))
// with z the upper alpha / 4 point, which is close to O'Brien and Fleming's boundaries: hardly
// anything early, nearly a test of fixed size at the end. The boundaries follow from the density of
// the statistic among the experiments that go on, integrated from look to look (Armitage, McPherson
// and Rowe, 1969) by Gauss-Legendre quadrature.

struct Look {
  double fraction = 0;  // of the most information that the experiment may collect
  double spent = 0;     // the part of alpha spent up to and including this look
  // The experiment stops if |z| is at least this. It can't stop at this look if z is absent.
  std::optional<double> z{};
  double nominal = 0;  // the level of this look alone, P(|Z| >= z), to compare p with
};

// There are at most 1000 fractions, rising, above 0 and up to 1. A look that could spend less than
// 1e-12 has no boundary and leaves its part of alpha to the next look.
Result<std::vector<Look>> spend_alpha(std::span<const double> fractions, double alpha);

// A group-sequential experiment.
struct Looks {
  std::vector<std::size_t> planned{};  // numbers of blocks, rising; the last is the maximum
  std::size_t blocks = 0;              // blocks in the data
};

class Repeated {
 public:
  // An experiment that ends between two looks, as a cancelled one does, gets a look at its end:
  // alpha spending allows looks that were not planned.
  static Result<Repeated> at(const Looks& looks);

  // The level of tests and intervals at this look alone, so that all looks together have `alpha`.
  // It is 0 if it is too early for tests and intervals.
  [[nodiscard]] double level(double alpha) const;

  // Turns the two-sided p of this look alone into a p for all looks: p(x) <= alpha exactly if x <=
  // level(alpha), to the precision of the search.
  [[nodiscard]] double p(double p) const;
  [[nodiscard]] double one_sided_p(double p) const;

 private:
  explicit Repeated(std::vector<double> fractions) : fractions_(std::move(fractions)) {}
  std::vector<double> fractions_;  // of the looks so far, the last is this one
};

}  // namespace stab::stats
