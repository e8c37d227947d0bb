// SPDX-License-Identifier: MIT
// Change points of a series of numbers: E-divisive (Matteson and James: A Nonparametric Approach for
// Multiple Change Point Analysis of Multivariate Data, JASA 2014), for one variable and the distance
// |x - y|. The series is cut where the two sides differ most, by the energy statistic
//
//     m n / (m + n) (2 / (m n) sum |x_i - y_j| - mean of |x_i - x_k| - mean of |y_j - y_k|)
//
// over all cuts and all ends of the right side, then each part again, as long as a permutation test
// rejects that the numbers of the parts could have come in any order. It assumes nothing of their
// distribution, but that they are independent: numbers that drift or swing slowly have change points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stab::stats {

struct ChangePointOptions {
  double alpha = 0.05;             // of each test; the first one is that of no change at all
  std::size_t permutations = 999;  // of each test, at most
  std::size_t shortest = 2;        // numbers of a part; at least 2
  std::uint64_t seed = 1;
};

struct ChangePoint {
  std::size_t at = 0;    // the first number of the new part
  double statistic = 0;  // of the cut
  double p = 0;          // (those as large + 1) / (permutations + 1), at most alpha
};

struct ChangePoints {
  std::vector<ChangePoint> found{};  // by `at`
  // Of the best cut that was not made, above alpha, of as many permutations as that took. None: no
  // part can be cut.
  std::optional<double> p_of_next{};
};

// The least p that any series of so many numbers can have over all permutations: the best cut stays as
// good when numbers change places within its left side, its right side, or behind its end, and when
// its sides change places. That is least for thirds; a single step in the middle has 2 of n choose n / 2.
double least_p(std::size_t numbers);

// The numbers are finite, and fewer than 2^16.
ChangePoints change_points(std::span<const double> series, const ChangePointOptions& options);

}  // namespace stab::stats
