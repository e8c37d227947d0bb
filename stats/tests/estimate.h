// SPDX-License-Identifier: MIT
// An estimated difference between two levels, with its tests and intervals, and the tests that make
// such estimates from samples. The difference is one of means, or a median of differences.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "stats/numbers/summary.h"

namespace stab::stats {

// `difference` is the mean at the level minus the mean at the baseline. With df = 0 there is no
// test. With df > 0 a variance of 0 means that the numbers do not vary, and the difference is
// exact.
struct Estimate {
  double difference = 0;
  double variance = 0;  // of the difference
  double df = 0;
  std::optional<double> base{};  // mean at the baseline, if it is known
  double base_variance = 0;
  double base_covariance = 0;  // of the baseline's mean with the difference
  bool log = false;            // of logarithms: the change is the ratio exp(difference)
  std::size_t units = 0;       // number of independent numbers behind it, if they are of one kind
  // For units in the order of time (own_error.h): the correlation of neighbours, and the number of
  // independent units that these units are worth. 0: the error treats the units as independent.
  double autocorrelation = 0;
  double independent = 0;
  std::size_t in_time = 0;  // number of units in the order of time; 0: no such units
  double fixed = 0;         // the part of the variance that more units would not reduce
  // The largest error of the measurement itself, in either direction. Intervals and p allow for all
  // of it.
  double bound = 0;
  // A median has its numbers here, in ascending order. Its p come from the sign test, and its
  // intervals end at two of the numbers, so both hold for any distribution of the numbers. For a
  // median, `variance` and `df` only serve to plan further experiments.
  std::shared_ptr<const std::vector<double>> ordered{};

  [[nodiscard]] bool has_error() const { return df > 0 && variance >= 0; }
  // Returns whether a change can be given as a ratio. Logarithms always have a ratio, raw numbers
  // only if the mean at the baseline is above 0.
  [[nodiscard]] bool has_ratio() const { return log || (base && *base > 0); }
};

// The two-sided p of "the difference is 0".
std::optional<double> p_value(const Estimate& estimate);

// The (1 - alpha) interval of the difference.
std::optional<Interval> difference_interval(const Estimate& estimate, double alpha);

// Returns the rank (from 1) of the number at which the lower end of a median's interval lies, if
// `numbers` numbers count as `independent` ones. An end is wrong with a probability of at most
// `one_sided`. 0: this few numbers have no interval at this level.
std::size_t median_rank(std::size_t numbers, double independent, double one_sided);

// (base + difference) / base; on the log scale exp(difference).
std::optional<double> ratio_of(const Estimate& estimate);

// The (1 - alpha) interval of the ratio, which excludes 1 exactly if p < alpha. Returns nothing if
// there is no ratio, or if the mean at the baseline is not significantly above 0 (Fieller: Some
// problems in interval estimation, 1954). A median's baseline counts as known.
std::optional<Interval> ratio_interval(const Estimate& estimate, double alpha);

// The p of "the ratio is not within [1 / (1 + margin), 1 + margin]": the larger p of two one-sided
// tests (Schuirmann, 1987). This is the only test of equivalence in the project.
std::optional<double> p_same(const Estimate& estimate, double margin);

// Student's t-tests (Biometrika 1908) as estimates, which the functions above turn into p-values
// and intervals. Welch's test is in own_error.h.

// The mean of b minus the mean of a, with one variance for both. It needs three numbers in all and
// at least one on each side, and they must not all equal their mean.
Result<Estimate> student(const Moments& a, const Moments& b);

// The mean of b[i] - a[i]. It needs two or more pairs whose differences are not all equal.
Result<Estimate> paired(std::span<const double> a, std::span<const double> b);

// Padding studies, as proposed for lld's randomized section padding: each of N seeds has M trials
// of either arm. Both arms are built with the same seed, so that its luck is the same in both. The
// seeds are the sample, not the trials.

struct SeedTrials {
  std::vector<double> before{};
  std::vector<double> after{};
};

struct PaddingStudy {
  std::vector<double> percent{};  // for each seed: 100 (mean after / mean before - 1)
  double mean = 0;                // of the percentages
  Interval interval{};            // Student's, (1 - alpha)
  double p = 0;                   // of "the mean is 0", two-sided
};

// Needs two or more seeds with a trial in either arm. All numbers must be above 0, and the
// percentages must not all be equal.
Result<PaddingStudy> padding_study(std::span<const SeedTrials> seeds, double alpha);

}  // namespace stab::stats
