// SPDX-License-Identifier: MIT
// An estimated difference of two means, and what can be said of it.
#pragma once

#include <cstddef>
#include <optional>

#include "stats/numbers/summary.h"

namespace stab::stats {

// `difference` = mean at the level - mean at the baseline. Nothing can be tested without degrees of
// freedom; a variance of 0 with some says that the numbers do not vary at all, so the difference is
// exact.
struct Estimate {
  double difference = 0;
  double variance = 0;  // of the difference
  double df = 0;
  std::optional<double> base{};  // mean at the baseline, if it is known
  double base_variance = 0;
  double base_covariance = 0;  // of the baseline's mean with the difference
  bool log = false;            // of logarithms: the change is the ratio exp(difference)
  std::size_t units = 0;       // independent numbers behind it, where they are of one kind

  [[nodiscard]] bool has_error() const { return df > 0 && variance >= 0; }
  // Whether a change can be given as a ratio: always of logarithms, else if the baseline's mean is
  // above 0.
  [[nodiscard]] bool has_ratio() const { return log || (base && *base > 0); }
};

// Two-sided, of "the difference is 0".
std::optional<double> p_value(const Estimate& estimate);

// The (1 - alpha) interval of the difference.
std::optional<Interval> difference_interval(const Estimate& estimate, double alpha);

// (base + difference) / base, of logarithms exp(difference).
std::optional<double> ratio_of(const Estimate& estimate);

// Its (1 - alpha) interval. It excludes 1 exactly if p < alpha. Nothing if there is no ratio, or if
// the baseline's mean is not clearly above 0 (Fieller: Some problems in interval estimation, 1954).
std::optional<Interval> ratio_interval(const Estimate& estimate, double alpha);

// Of "the ratio is not within [1 / (1 + margin), 1 + margin]": the larger p of two one-sided tests
// (Schuirmann, 1987). The test of equivalence of the whole project.
std::optional<double> p_same(const Estimate& estimate, double margin);

}  // namespace stab::stats
