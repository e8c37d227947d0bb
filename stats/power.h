// SPDX-License-Identifier: MIT
// Planning: what an experiment can see, by the noncentral t and F distributions (Cohen: Statistical
// power analysis, 1988). Tests are two-sided; power counts rejections in either direction, as R's
// power.t.test(strict = TRUE). Standard deviations on the log scale are relative ones.
#pragma once

#include <cstddef>
#include <span>

#include "base/error.h"

namespace stab::stats {

enum class Samples { two, paired };  // paired: sd is that of the differences; also one sample

// n: numbers in each sample, or pairs; 2 or more.
Result<double> t_power(Samples kind, std::size_t n, double difference, double sd, double alpha);

// The smallest difference that is seen with this power (above alpha).
Result<double> t_detectable(Samples kind, std::size_t n, double sd, double alpha, double power);

// The smallest n with at least this power; at most 10 million.
Result<std::size_t> t_needed(Samples kind, double difference, double sd, double alpha,
                             double power);

// A term of an analysis of variance.
struct FTest {
  double df = 0;
  double error_df = 0;
};

// lambda: sum over all trials of the squared effect, over the error's variance.
Result<double> f_power(const FTest& test, double lambda, double alpha);
Result<double> f_detectable(const FTest& test, double alpha, double power);  // lambda

// A complete factorial design: `shape` has the levels of each treatment, every block has each cell
// once (blocks are a term of the model), or `blocks` repetitions are completely randomized.
struct FactorialDesign {
  std::span<const std::size_t> shape{};
  std::size_t blocks = 0;
  bool randomized_blocks = true;
};

// The main effect of one treatment, and the smallest difference between any two of its levels that
// is seen with this power wherever the other levels' means lie between them: the least favourable
// case has all others in the middle.
Result<double> factorial_detectable(const FactorialDesign& design, std::size_t treatment, double sd,
                                    double alpha, double power);

// The smallest n for which the (1 - alpha) interval's half width is at most `half_width` with
// probability `assurance` (Kupper and Hafner, American Statistician 1989).
Result<std::size_t> needed_for_half_width(Samples kind, double half_width, double sd, double alpha,
                                          double assurance);

}  // namespace stab::stats
