// SPDX-License-Identifier: MIT
// An estimated difference of two means, and what can be said of it.
#pragma once

#include <optional>

#include "stats/summary.h"

namespace stab::stats {

// `difference` = mean at the level - mean at the baseline. No test is possible if its variance or
// df is not above 0.
struct Estimate {
  double difference = 0;
  double variance = 0;  // of the difference
  double df = 0;
  std::optional<double> base{};  // mean at the baseline, if it is known
  double base_variance = 0;
  double base_covariance = 0;  // of the baseline's mean with the difference

  [[nodiscard]] bool has_error() const { return variance > 0 && df > 0; }
};

// Two-sided, of "the difference is 0".
std::optional<double> p_value(const Estimate& estimate);

// The (1 - alpha) interval of the difference.
std::optional<Interval> difference_interval(const Estimate& estimate, double alpha);

// The (1 - alpha) interval of (base + difference) / base. It excludes 1 exactly if p < alpha.
// Nothing if the baseline's mean is not clearly above 0 (Fieller: Some problems in interval
// estimation, 1954).
std::optional<Interval> ratio_interval(const Estimate& estimate, double alpha);

}  // namespace stab::stats
