// SPDX-License-Identifier: MIT
// Change points of a series of numbers: E-divisive (Matteson and James: A Nonparametric Approach
// for Multiple Change Point Analysis of Multivariate Data, JASA 2014), for one variable and the
// distance |x - y|. The series is cut where the two sides differ most, by the energy statistic
//
//     m n / (m + n) (2 / (m n) sum |x_i - y_j| - mean of |x_i - x_k| - mean of |y_j - y_k|)
//
// over all cuts and all ends of the right side. Then each part is cut again, as long as a
// permutation test rejects that the numbers of the parts could have come in any order. The numbers
// may have any distribution, but they must be independent: numbers that drift or swing slowly have
// change points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stab::stats {

struct ChangePointOptions {
  double alpha = 0.05;             // of each test; the first test is of "there is no change at all"
  std::size_t permutations = 999;  // for each test, at most
  std::size_t shortest = 2;        // the least size of a part; at least 2
  std::uint64_t seed = 1;
};

struct ChangePoint {
  std::size_t at = 0;    // the first number of the new part
  double statistic = 0;  // of the cut
  double p = 0;          // (permutations as large + 1) / (permutations + 1), at most alpha
};

struct ChangePoints {
  std::vector<ChangePoint> found{};  // by `at`
  // The p of the best cut that was not made. It is above alpha, and based on as many permutations
  // as were needed to know that. Absent if no part can be cut.
  std::optional<double> p_of_next{};
};

// The least p over all permutations that any series of this length can have. The best cut stays as
// good if numbers change places within its left side, within its right side, or behind its end, and
// if its sides change places. That p is least for thirds; a single step in the middle has 2 of n
// choose n / 2.
double least_p(std::size_t numbers);

// The numbers must be finite, and fewer than 2^16.
ChangePoints change_points(std::span<const double> series, const ChangePointOptions& options);

}  // namespace stab::stats
