// SPDX-License-Identifier: MIT
// Plans experiments: the effects that an experiment can detect, by the noncentral t distribution
// (Cohen: Statistical power analysis, 1988). Tests are two-sided; power counts rejections in either
// direction, like R's power.t.test(strict = TRUE). Standard deviations on the log scale are
// relative.
#pragma once

#include <cstddef>

#include "base/error.h"

namespace stab::stats {

enum class Samples { two, paired };  // paired: sd of the differences; also for one sample

// `n` is the count of numbers in each sample, or of pairs; it is at least 2.
Result<double> t_power(Samples kind, std::size_t n, double difference, double sd, double alpha);

// The smallest difference that is found with this power; `power` must be above alpha.
Result<double> t_detectable(Samples kind, std::size_t n, double sd, double alpha, double power);

// The same for a difference with this standard error and this many degrees of freedom.
Result<double> t_detectable(double error, double df, double alpha, double power);

// The smallest n with at least this power; at most 10 million.
Result<std::size_t> t_needed(Samples kind, double difference, double sd, double alpha,
                             double power);

// The error that a number of units had. More units reduce the error and add degrees of freedom, in
// proportion. A part of the variance may be of another kind, which more units do not reduce.
struct Shown {
  std::size_t units = 0;
  double error = 0;  // standard error of the difference
  double df = 0;
  double fixed = 0;  // variance that more units do not reduce
};

// The smallest number of units with at least this power; at most 10 million.
Result<std::size_t> t_needed(const Shown& shown, double difference, double alpha, double power);

// The smallest n for which the (1 - alpha) interval's half width is at most `half_width` with
// probability `assurance` (Kupper and Hafner, American Statistician 1989).
Result<std::size_t> needed_for_half_width(Samples kind, double half_width, double sd, double alpha,
                                          double assurance);

}  // namespace stab::stats
